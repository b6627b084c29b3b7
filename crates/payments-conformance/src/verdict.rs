use std::fmt;

/// What came of checking one contract on one stack.
#[derive(Clone, Debug)]
#[must_use = "a verdict that nobody reads proves nothing"]
pub struct Verdict {
    contract: &'static str,
    finding: Finding,
    figures: Vec<String>,
}

#[derive(Clone, Debug)]
enum Finding {
    Kept,
    Broken { story: String },
    NotApplicable { reason: String },
    Deviates { reason: String, story: String },
}

impl Verdict {
    pub(crate) fn kept(contract: &'static str, figures: Vec<String>) -> Self {
        Self { contract, finding: Finding::Kept, figures }
    }

    pub(crate) fn broken(contract: &'static str, story: String, figures: Vec<String>) -> Self {
        Self { contract, finding: Finding::Broken { story }, figures }
    }

    pub(crate) fn not_applicable(contract: &'static str, reason: String) -> Self {
        Self { contract, finding: Finding::NotApplicable { reason }, figures: Vec::new() }
    }

    /// The verdict on a stack that has declared, with this reason, that it breaks the contract.
    pub(crate) fn excused(self, reason: &str) -> Self {
        let finding = match self.finding {
            Finding::Broken { story } => Finding::Deviates { reason: reason.to_owned(), story },
            Finding::Kept => Finding::Broken {
                story: format!(
                    "the stack declares a deviation from `{}` (\"{reason}\"), but keeps it: remove the declaration",
                    self.contract
                ),
            },
            Finding::NotApplicable { reason: missing } => Finding::Broken {
                story: format!(
                    "the stack declares a deviation from `{}` (\"{reason}\"), which does not apply to it ({missing}): \
                     remove one of the two declarations",
                    self.contract
                ),
            },
            deviates @ Finding::Deviates { .. } => deviates,
        };
        Self { finding, ..self }
    }

    /// The name of the contract, which is that of its function.
    pub fn contract(&self) -> &'static str {
        self.contract
    }

    /// Whether the stack keeps the contract.
    pub fn is_kept(&self) -> bool {
        matches!(self.finding, Finding::Kept)
    }

    /// Whether the stack breaks the contract without having declared it: do not send payments through it.
    pub fn is_broken(&self) -> bool {
        matches!(self.finding, Finding::Broken { .. })
    }

    /// Whether the stack breaks the contract and has [declared](crate::Abilities::deviation) it.
    pub fn is_deviation(&self) -> bool {
        matches!(self.finding, Finding::Deviates { .. })
    }

    /// Whether the stack cannot be asked, because it has declared that it lacks what the contract is about.
    pub fn is_not_applicable(&self) -> bool {
        matches!(self.finding, Finding::NotApplicable { .. })
    }

    /// What happened, where the contract is broken: what the server did, what reached it, what the transport said, what
    /// it should have said, and what that means for the money.
    pub fn story(&self) -> Option<&str> {
        match &self.finding {
            Finding::Broken { story } | Finding::Deviates { story, .. } => Some(story),
            Finding::Kept | Finding::NotApplicable { .. } => None,
        }
    }

    /// What was measured on the way, in words.
    pub fn figures(&self) -> &[String] {
        &self.figures
    }

    /// Prints the verdict for whoever asked to see a test's output, unless it is told in the panic.
    ///
    /// # Panics
    ///
    /// If the contract is broken, with the whole story.
    #[track_caller]
    #[allow(clippy::print_stdout, reason = "the output of a test is where its figures are looked for")]
    pub fn assert_kept(&self) {
        if let Finding::Broken { story } = &self.finding {
            panic!("\n\n{story}\n");
        }
        println!("{self}");
    }
}

/// One line: the verdict, the contract, a reason or the figures.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { contract, finding, figures } = self;
        match finding {
            Finding::Kept => write!(f, "kept            {contract}")?,
            Finding::Broken { story } => {
                write!(f, "BROKEN          {contract}: {}", story.lines().next().unwrap_or_default())?;
            }
            Finding::NotApplicable { reason } => write!(f, "not applicable  {contract}: {reason}")?,
            Finding::Deviates { reason, .. } => write!(f, "DEVIATES        {contract}: {reason}")?,
        }
        if !figures.is_empty() {
            write!(f, " ({})", figures.join("; "))?;
        }
        Ok(())
    }
}
