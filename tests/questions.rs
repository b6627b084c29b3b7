//! One file per question.
