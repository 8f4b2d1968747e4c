//! A list in pages beside the same list as a whole, in turn: one that is taken a minute later finds another machine.

use super::{Table, median, named};
use crate::BenchError;
use crate::measures::{Api, Measure};

const TURNS: usize = 15;

pub(super) async fn pages(api: &Api, pods: usize, table: &mut Table) -> Result<(), BenchError> {
    let mut ratios = Vec::new();
    for _ in 0..TURNS {
        let whole = named("kedge", api.run(Measure::List).await?);
        let paged = named("kedge", api.run(Measure::PagedList).await?);
        ratios.push(paged.p50_ms.unwrap_or(f64::MAX) / whole.p50_ms.unwrap_or(1.0));
    }
    table.at_most(&format!("LIST of {pods} pods in pages of 500 ÷ whole"), median(&mut ratios), "×", 1.3);
    Ok(())
}
