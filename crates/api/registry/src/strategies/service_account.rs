//! ServiceAccounts.

use crate::strategy::Strategy;

pub(super) struct ServiceAccounts;

impl Strategy for ServiceAccounts {}
