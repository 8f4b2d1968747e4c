//! Protobuf beside JSON: the same get, list and watch on the same server, in turn.

use super::{Table, median, named};
use crate::measures::{Api, Measure};
use crate::report::Line;
use crate::{BenchError, Size, load};

/// A machine that others share changes its pace within a second: gets are compared in short turns, many of them.
const GETS: usize = 500;
const GET_TURNS: usize = 1_001;
const LIST_TURNS: usize = 31;
const WATCH_TURNS: usize = 15;

pub(super) async fn protobuf(api: &Api, pods: usize, table: &mut Table) -> Result<(), BenchError> {
    let both = Both { json: api.clone(), protobuf: Api { target: api.target.in_protobuf(), ..api.clone() } };
    let (mut lists, mut watches, mut grew) = (Vec::new(), Vec::new(), 0.0f64);
    for (what, object) in [("a ConfigMap", "configmaps/config-0"), ("a Pod", "pods/pod-0")] {
        let ratio = both.gets(object).await?;
        table.at_least(&format!("GET of {what} in protobuf ÷ JSON, requests/s"), ratio, "×", 1.0);
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
    /// The middle one of the ratios of all turns.
    async fn gets(&self, object: &'static str) -> Result<f64, BenchError> {
        let brief = |api: &Api| Api { size: Size { count: GETS, ..api.size.clone() }, ..api.clone() };
        let (json, protobuf) = (brief(&self.json), brief(&self.protobuf));
        let mut by_json = load::open(&json.target, json.size.connections).await?;
        let mut by_protobuf = load::open(&protobuf.target, protobuf.size.connections).await?;
        let mut ratios = Vec::new();
        for turn in 0..GET_TURNS {
            let (in_json, in_protobuf) = if turn.is_multiple_of(2) {
                let in_json = json.gets_on(&mut by_json, object).await?;
                (in_json, protobuf.gets_on(&mut by_protobuf, object).await?)
            } else {
                let in_protobuf = protobuf.gets_on(&mut by_protobuf, object).await?;
                (json.gets_on(&mut by_json, object).await?, in_protobuf)
            };
            ratios.push(in_protobuf.per_second / in_json.per_second);
        }
        Ok(median(&mut ratios))
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
