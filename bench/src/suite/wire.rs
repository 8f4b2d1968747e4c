//! Protobuf beside JSON: the same get, list and watch on the same server, in turn.

use super::{Table, median, named};
use crate::BenchError;
use crate::measures::{Api, Measure};

pub(super) async fn protobuf(api: &Api, pods: usize, table: &mut Table) -> Result<(), BenchError> {
    let other = Api { target: api.target.in_protobuf(), ..api.clone() };
    let (mut gets, mut lists, mut watches, mut grew) = (Vec::new(), Vec::new(), Vec::new(), 0.0f64);
    for _ in 0..3 {
        let json = named("json", api.run(Measure::Get).await?);
        let proto = named("protobuf", other.run(Measure::Get).await?);
        gets.push(proto.per_second / json.per_second);
        let json = named("json", api.run(Measure::List).await?);
        let proto = named("protobuf", other.run(Measure::List).await?);
        lists.push(json.p50_ms.unwrap_or(0.0) / proto.p50_ms.unwrap_or(f64::MAX));
        grew = grew.max(proto.server_rss_grew_mb.unwrap_or(0.0));
        let json = named("json", api.run(Measure::WatchFanout).await?);
        let proto = named("protobuf", other.run(Measure::WatchFanout).await?);
        watches.push(proto.per_second / json.per_second);
    }
    table.at_least("GET in protobuf ÷ JSON, requests/s", median(&mut gets), "×", 1.0);
    table.at_least(&format!("LIST of {pods} pods in protobuf ÷ JSON, lists/s"), median(&mut lists), "×", 1.0);
    table.at_most(&format!("RSS added by LIST of {pods} pods in protobuf"), grew, "MB", 20.0);
    table.at_least("watch, 100 watchers, in protobuf ÷ JSON, events/s", median(&mut watches), "×", 1.0);
    Ok(())
}
