//! What expressions cost: ranges known before evaluation, and the budget that an evaluation draws on.

use crate::error::EvalError;

pub(crate) mod actual;
mod calls;
pub(crate) mod estimate;
mod size;

/// How much one evaluation of one expression may cost.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// What is left to spend. One budget can serve many evaluations.
#[derive(Clone, Debug)]
pub struct Budget {
    limit: u64,
    spent: u64,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Budget { limit, spent: 0 }
    }

    pub fn spent(&self) -> u64 {
        self.spent
    }

    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.spent)
    }

    /// What was spent and turns out to be free.
    pub(crate) fn refund(&mut self, cost: u64) {
        self.spent = self.spent.saturating_sub(cost);
    }

    /// Takes the cost of something done elsewhere, such as another evaluation with a budget of its own.
    pub fn spend(&mut self, cost: u64) -> Result<(), EvalError> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > self.limit { Err(EvalError::CostExceeded) } else { Ok(()) }
    }
}

/// The least and the most that something can cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostRange {
    pub min: u64,
    pub max: u64,
}

#[cfg(test)]
mod tests;
