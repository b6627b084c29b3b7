// Tests payments against a local sandbox with Node alone (18 or later): fetch and node:test.
//
//     PAYMENTS=target/debug/payments node --test examples/node/payments.test.mjs
//
// The tests start and stop the sandbox. Copy `Sandbox` and `Client` into your own tests. Only the `payments` command must be
// installed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, beforeEach, test } from "node:test";

/** A running `payments sandbox` on a free port of this machine. */
class Sandbox {
  static async start() {
    const command = process.env.PAYMENTS ?? "payments";
    const child = spawn(command, ["sandbox"], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit");
    // The sandbox prints this line, with its addresses, once it accepts connections.
    const line = once(createInterface(child.stdout), "line");
    const first = await Promise.race([line, ended.then(([status]) => status)]);
    if (!Array.isArray(first)) {
      throw new Error(`${command} sandbox ended with ${first} instead of getting ready`);
    }
    return new Sandbox(child, ended, JSON.parse(first[0]));
  }

  constructor(child, ended, ready) {
    this.child = child;
    this.ended = ended;
    this.baseUrl = ready.base_url;
    this.apiKey = ready.api_key;
    this.adminUrl = ready.admin_url;
  }

  /** Stops the sandbox with SIGTERM, as a service manager would. */
  async stop() {
    this.child.kill("SIGTERM");
    const [status] = await this.ended;
    assert.equal(status, 0, "the sandbox did not exit cleanly");
  }

  /** Arms a fault, which makes one of the next requests fail. */
  async arm(fault) {
    const { status, body } = await call("POST", `${this.adminUrl}/faults`, {}, fault);
    assert.ok(status < 400, `the fault was refused: ${JSON.stringify(body)}`);
  }

  /** The service's ledger, which a client cannot see. */
  async transactions() {
    const { body } = await call("GET", `${this.adminUrl}/state`);
    return body.transactions;
  }

  /** Deletes every transaction and every armed fault. */
  async reset() {
    await call("POST", `${this.adminUrl}/reset`, {}, {});
  }
}

/** The five operations. Each returns the HTTP status and the JSON body. */
class Client {
  constructor(baseUrl, apiKey) {
    this.baseUrl = baseUrl;
    this.headers = { Authorization: apiKey };
  }

  processTransaction(fields) {
    return call("POST", `${this.baseUrl}/transaction`, this.headers, fields);
  }

  processTokenTransaction(fields) {
    return call("POST", `${this.baseUrl}/token-transaction`, this.headers, fields);
  }

  void(transactionId, reason) {
    const fields = { TransactionId: transactionId, TransactionFor: "Void", Reason: reason };
    return call("POST", `${this.baseUrl}/void`, this.headers, fields);
  }

  transaction(transactionId) {
    return call("GET", `${this.baseUrl}/transaction/${transactionId}`, this.headers);
  }

  customer(customerId) {
    return call("GET", `${this.baseUrl}/customer/${customerId}`, this.headers);
  }
}

/** Sends a request once. It never repeats a payment and follows no redirect. */
async function call(method, url, headers = {}, body = undefined) {
  const json = body === undefined ? {} : { "Content-Type": "application/json" };
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...json },
    body: body === undefined ? undefined : JSON.stringify(body),
    redirect: "manual",
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

/** A card payment with all required fields, and a public test number that is approved. */
function cardPayment(changes = {}) {
  return {
    Amount: 10.5,
    BillingCountry: "US",
    BillingCountryCode: "+1",
    BillingCustomerName: "A. Payer",
    BillingEmail: "payer@example.com",
    BillingPhoneNumber: "555-0100",
    BillingPostalCode: "94105",
    CardNumber: "4242424242424242",
    Cvv: "123",
    ExpiryDate: "1230",
    SuggestedMode: "Card",
    ConvenienceFeeActive: false,
    TransactionType: "1",
    IpAddress: "203.0.113.7",
    ...changes,
  };
}

let sandbox;
let client;

before(async () => {
  sandbox = await Sandbox.start();
  client = new Client(sandbox.baseUrl, sandbox.apiKey);
});
beforeEach(() => sandbox.reset());
after(() => sandbox.stop());

// For a payment, status_code 100 is success and 200 is not. The HTTP status alone proves nothing.
function assertProcessed({ status, body }) {
  assert.deepEqual([status, body.status, body.status_code], [200, "success", 100], JSON.stringify(body));
}

test("a card payment can be looked up", async () => {
  const paid = await client.processTransaction(cardPayment());
  assertProcessed(paid);
  const record = paid.body.data;
  assert.equal(record.Amount, 10.5);
  assert.equal(record.CardNumber, "************4242");
  const found = await client.transaction(record.TransactionId);
  assert.deepEqual([found.status, found.body.status_code, found.body.data], [200, 200, record]);
});

test("a declined payment has HTTP status 200", async () => {
  const { status, body } = await client.processTransaction(cardPayment({ CardNumber: "4000000000009995" }));
  assert.deepEqual([status, body.status, body.message], [200, "failed", "insufficient funds"]);
  assert.notEqual(body.status_code, 100);
});

test("an invalid payment is refused with its reason", async () => {
  const { status, body } = await client.processTransaction(cardPayment({ Cvv: "12" }));
  assert.deepEqual([status, body.status, body.status_code], [400, "failed", 400]);
  assert.match(body.msg, /^bad request error: /);
  assert.deepEqual(await sandbox.transactions(), []);
});

test("a stored token is charged", async () => {
  const fields = { TokenId: "tok_approved", Amount: 25, ConvenienceFeeActive: false, ReferenceNo: "order-1001" };
  const paid = await client.processTokenTransaction(fields);
  assertProcessed(paid);
  const found = await client.transaction(paid.body.data.TransactionId);
  assert.deepEqual([found.status, found.body.data.Amount], [200, 25]);
});

test("an authorization is voided once", async () => {
  const authorized = await client.processTransaction(cardPayment({ TransactionType: "2" }));
  assertProcessed(authorized);
  const id = authorized.body.data.TransactionId;
  assertProcessed(await client.void(id, "customer canceled"));
  const { status, body } = await client.void(id, "once more");
  assert.deepEqual([status, body.msg], [400, "bad request error: invalid transaction id"]);
});

test("lookups find existing records only", async () => {
  const seeded = await client.customer("cus_1");
  assert.deepEqual([seeded.status, seeded.body.status_code, seeded.body.data.CustomerId], [200, 200, "cus_1"]);
  assert.ok(!("status" in seeded.body));
  const customer = await client.customer("cus_unknown");
  assert.deepEqual([customer.status, customer.body.msg], [404, "Customer not found"]);
  const transaction = await client.transaction("txn_unknown");
  assert.deepEqual([transaction.status, transaction.body.msg], [404, "Transaction not found"]);
});

test("a wrong key is refused", async () => {
  const unauthorized = new Client(sandbox.baseUrl, "wrong-key");
  const { status, body } = await unauthorized.processTransaction(cardPayment());
  assert.deepEqual([status, body.status_code, body.msg], [401, 401, "Unauthorized: Invalid API Key"]);
  assert.deepEqual(await sandbox.transactions(), []);
});

test("a payment with a lost response was charged", async () => {
  await sandbox.arm({ operation: "transaction", phase: "after_commit", kind: "reset" });
  await assert.rejects(client.processTransaction(cardPayment({ Amount: 99.95 })), TypeError);
  // The client cannot distinguish this from the next test. Sending again would charge twice.
  const charged = await sandbox.transactions();
  assert.deepEqual(charged.map((transaction) => transaction.Amount), [99.95]);
});

test("a payment with a lost request was not charged", async () => {
  await sandbox.arm({ operation: "transaction", phase: "before_commit", kind: "reset" });
  await assert.rejects(client.processTransaction(cardPayment({ Amount: 99.95 })), TypeError);
  assert.deepEqual(await sandbox.transactions(), []);
});
