"""Tests payments against a local sandbox, with Python's standard library alone.

    PAYMENTS=target/debug/payments python3 examples/python/test_payments.py

The tests start and stop the sandbox. Copy `Sandbox` and `Client` into your own tests. Only the `payments` command must be
installed.
"""

import http.client
import json
import os
import subprocess
import unittest
from urllib.parse import urlsplit


class Sandbox:
    """A running `payments sandbox` on a free port of this machine."""

    def __init__(self):
        command = os.environ.get("PAYMENTS", "payments")
        self._process = subprocess.Popen([command, "sandbox"], stdout=subprocess.PIPE, text=True)
        # The sandbox prints this line, with its addresses, once it accepts connections.
        ready = self._process.stdout.readline()
        if not ready:
            raise RuntimeError(f"{command} sandbox ended with {self._process.wait()} instead of getting ready")
        ready = json.loads(ready)
        self.base_url = ready["base_url"]
        self.api_key = ready["api_key"]
        self.admin_url = ready["admin_url"]

    def stop(self):
        """Stops the sandbox with SIGTERM, as a service manager would."""
        self._process.terminate()
        status = self._process.wait(timeout=30)
        self._process.stdout.close()
        if status != 0:
            raise RuntimeError(f"the sandbox ended with {status}")

    def arm(self, **fault):
        """Arms a fault, which makes one of the next requests fail."""
        status, body = call("POST", self.admin_url + "/faults", body=fault)
        if status >= 400:
            raise RuntimeError(f"the fault was refused: {body}")

    def transactions(self):
        """The service's ledger, which a client cannot see."""
        _, state = call("GET", self.admin_url + "/state")
        return state["transactions"]

    def reset(self):
        """Deletes every transaction and every armed fault."""
        call("POST", self.admin_url + "/reset", body={})


class Client:
    """The five operations. Each returns the HTTP status and the JSON body."""

    def __init__(self, base_url, api_key):
        self._base_url = base_url
        self._headers = {"Authorization": api_key}

    def process_transaction(self, **fields):
        return call("POST", self._base_url + "/transaction", self._headers, fields)

    def process_token_transaction(self, **fields):
        return call("POST", self._base_url + "/token-transaction", self._headers, fields)

    def void(self, transaction_id, reason):
        fields = {"TransactionId": transaction_id, "TransactionFor": "Void", "Reason": reason}
        return call("POST", self._base_url + "/void", self._headers, fields)

    def transaction(self, transaction_id):
        return call("GET", f"{self._base_url}/transaction/{transaction_id}", self._headers)

    def customer(self, customer_id):
        return call("GET", f"{self._base_url}/customer/{customer_id}", self._headers)


def call(method, url, headers=None, body=None):
    """Sends a request once, on a new connection. It never repeats a payment."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        headers = dict(headers or {})
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        connection.request(method, parts.path, body, headers)
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None
    finally:
        connection.close()


def card_payment(**changes):
    """A card payment with all required fields, and a public test number that is approved."""
    return {
        "Amount": 10.50,
        "BillingCountry": "US",
        "BillingCountryCode": "+1",
        "BillingCustomerName": "A. Payer",
        "BillingEmail": "payer@example.com",
        "BillingPhoneNumber": "555-0100",
        "BillingPostalCode": "94105",
        "CardNumber": "4242424242424242",
        "Cvv": "123",
        "ExpiryDate": "1230",
        "SuggestedMode": "Card",
        "ConvenienceFeeActive": False,
        "TransactionType": "1",
        "IpAddress": "203.0.113.7",
        **changes,
    }


class PaymentsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox()
        cls.addClassCleanup(cls.sandbox.stop)
        cls.client = Client(cls.sandbox.base_url, cls.sandbox.api_key)

    def setUp(self):
        self.sandbox.reset()

    def assert_processed(self, status, body):
        # For a payment, status_code 100 is success and 200 is not. The HTTP status alone proves nothing.
        self.assertEqual((status, body["status"], body["status_code"]), (200, "success", 100), body)

    def test_a_card_payment_can_be_looked_up(self):
        status, body = self.client.process_transaction(**card_payment())
        self.assert_processed(status, body)
        record = body["data"]
        self.assertEqual(record["Amount"], 10.50)
        self.assertEqual(record["CardNumber"], "************4242")
        status, found = self.client.transaction(record["TransactionId"])
        self.assertEqual((status, found["status_code"], found["data"]), (200, 200, record))

    def test_a_declined_payment_has_http_status_200(self):
        status, body = self.client.process_transaction(**card_payment(CardNumber="4000000000009995"))
        self.assertEqual(status, 200)
        self.assertEqual((body["status"], body["message"]), ("failed", "insufficient funds"))
        self.assertNotEqual(body["status_code"], 100)

    def test_an_invalid_payment_is_refused_with_its_reason(self):
        status, body = self.client.process_transaction(**card_payment(Cvv="12"))
        self.assertEqual((status, body["status"], body["status_code"]), (400, "failed", 400))
        self.assertTrue(body["msg"].startswith("bad request error: "), body)
        self.assertEqual(self.sandbox.transactions(), [])

    def test_a_stored_token_is_charged(self):
        fields = {"TokenId": "tok_approved", "Amount": 25, "ConvenienceFeeActive": False, "ReferenceNo": "order-1001"}
        status, body = self.client.process_token_transaction(**fields)
        self.assert_processed(status, body)
        status, found = self.client.transaction(body["data"]["TransactionId"])
        self.assertEqual((status, found["data"]["Amount"]), (200, 25))

    def test_an_authorization_is_voided_once(self):
        status, body = self.client.process_transaction(**card_payment(TransactionType="2"))
        self.assert_processed(status, body)
        transaction_id = body["data"]["TransactionId"]
        self.assert_processed(*self.client.void(transaction_id, "customer canceled"))
        status, body = self.client.void(transaction_id, "once more")
        self.assertEqual((status, body["msg"]), (400, "bad request error: invalid transaction id"))

    def test_lookups_find_existing_records_only(self):
        status, body = self.client.customer("cus_1")
        self.assertEqual((status, body["status_code"], body["data"]["CustomerId"]), (200, 200, "cus_1"))
        self.assertNotIn("status", body)
        status, body = self.client.customer("cus_unknown")
        self.assertEqual((status, body["msg"]), (404, "Customer not found"))
        status, body = self.client.transaction("txn_unknown")
        self.assertEqual((status, body["msg"]), (404, "Transaction not found"))

    def test_a_wrong_key_is_refused(self):
        unauthorized = Client(self.sandbox.base_url, "wrong-key")
        status, body = unauthorized.process_transaction(**card_payment())
        self.assertEqual((status, body["status_code"]), (401, 401))
        self.assertEqual(body["msg"], "Unauthorized: Invalid API Key")
        self.assertEqual(self.sandbox.transactions(), [])

    def test_a_payment_with_a_lost_response_was_charged(self):
        self.sandbox.arm(operation="transaction", phase="after_commit", kind="reset")
        with self.assertRaises(ConnectionError):
            self.client.process_transaction(**card_payment(Amount=99.95))
        # The client cannot distinguish this from the next test. Sending again would charge twice.
        self.assertEqual([charge["Amount"] for charge in self.sandbox.transactions()], [99.95])

    def test_a_payment_with_a_lost_request_was_not_charged(self):
        self.sandbox.arm(operation="transaction", phase="before_commit", kind="reset")
        with self.assertRaises(ConnectionError):
            self.client.process_transaction(**card_payment(Amount=99.95))
        self.assertEqual(self.sandbox.transactions(), [])


if __name__ == "__main__":
    unittest.main()
