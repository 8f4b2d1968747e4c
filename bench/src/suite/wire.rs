//! Protobuf beside JSON: the same get, list and watch on the same server, in turn.

use super::{Table, median, named};
use crate::measures::{Api, Measure};
use crate::report::Line;
use crate::{BenchError, Size};

/// A machine that others share changes its pace from one second to the next: gets are compared in turns of a fraction of one.
const GETS: usize = 2_000;
const GET_TURNS: usize = 201;
const LIST_TURNS: usize = 31;
const WATCH_TURNS: usize = 15;

pub(super) async fn protobuf(api: &Api, pods: usize, table: &mut Table) -> Result<(), BenchError> {
    let both = Both { json: api.clone(), protobuf: Api { target: api.target.in_protobuf(), ..api.clone() } };
    let (mut gets, mut lists, mut watches, mut grew) = (Vec::new(), Vec::new(), Vec::new(), 0.0f64);
    let brief = both.with(GETS);
    for turn in 0..GET_TURNS {
        let (json, protobuf) = brief.run(Measure::Get, turn).await?;
        gets.push(protobuf.per_second / json.per_second);
    }
    for turn in 0..LIST_TURNS {
        let (json, protobuf) = both.run(Measure::List, turn).await?;
        lists.push(json.p50_ms.unwrap_or(0.0) / protobuf.p50_ms.unwrap_or(f64::MAX));
        grew = grew.max(protobuf.server_rss_grew_mb.unwrap_or(0.0));
    }
    for turn in 0..WATCH_TURNS {
        let (json, protobuf) = both.run(Measure::WatchFanout, turn).await?;
        watches.push(protobuf.per_second / json.per_second);
    }
    table.at_least("GET in protobuf ÷ JSON, requests/s", median(&mut gets), "×", 1.0);
    table.at_least(&format!("LIST of {pods} pods in protobuf ÷ JSON, lists/s"), median(&mut lists), "×", 1.0);
    table.at_most(&format!("RSS added by LIST of {pods} pods in protobuf"), grew, "MB", 20.0);
    table.at_least("watch, 100 watchers, in protobuf ÷ JSON, events/s", median(&mut watches), "×", 1.0);
    Ok(())
}

/// The same server, asked in two ways.
struct Both {
    json: Api,
    protobuf: Api,
}

impl Both {
    /// The same, with so many operations a turn.
    fn with(&self, count: usize) -> Self {
        let brief = |api: &Api| Api { size: Size { count, ..api.size.clone() }, ..api.clone() };
        Self { json: brief(&self.json), protobuf: brief(&self.protobuf) }
    }

    /// Each goes first every other turn, as whatever goes second finds the machine in another state.
    async fn run(&self, measure: Measure, turn: usize) -> Result<(Line, Line), BenchError> {
        if turn.is_multiple_of(2) {
            let json = named("json", self.json.run(measure).await?);
            return Ok((json, named("protobuf", self.protobuf.run(measure).await?)));
        }
        let protobuf = named("protobuf", self.protobuf.run(measure).await?);
        Ok((named("json", self.json.run(measure).await?), protobuf))
    }
}
