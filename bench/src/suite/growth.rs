//! What many objects cost: the same write beside few and beside many, writes beside lists and a compaction, and starting with a
//! full store.

use std::path::Path;

use bytes::Bytes;
use http::Method;
use tokio::sync::watch;

use crate::connect::Connection;
use crate::measures::{Api, Measure};
use crate::{BenchError, Size, report};

use super::server::Server;
use super::{CONNECTIONS, Table, fresh, median, named};

/// How often few and many are measured in turn.
const ROUNDS: usize = 9;
/// How many list everything at the same time.
const LISTS: usize = 10;

pub(super) async fn growth(
    kedge: &Path,
    folder: &Path,
    objects: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    report::note(&format!("growth to {objects} objects…"));
    let data = fresh(folder, "growth")?;
    let server = Server::kedge(kedge, &data).await?;
    let many = filled(&server, objects).await?;
    flat(kedge, folder, &many, objects, table).await?;
    beside_lists(&many, objects, table).await?;
    server.stop().await;

    let again = Server::kedge(kedge, &data).await?;
    table.at_most(
        &format!("start to /readyz with {objects} objects"),
        again.took.as_secs_f64() * 1000.0,
        "ms",
        1500.0,
    );
    again.stop().await;
    Ok(())
}

/// A server with that many objects; what is measured on it makes and removes others, whose numbers come before theirs.
async fn filled(server: &Server, objects: usize) -> Result<Api, BenchError> {
    let rounds = (objects / 50).clamp(200, 2_000);
    let api = |count| -> Result<Api, BenchError> {
        let size = Size { connections: CONNECTIONS, count, bytes: 1024 };
        Ok(Api { target: server.target()?, size, server: Some(server.pid) })
    };
    let all = api(objects)?;
    all.make_namespace().await?;
    all.config_maps_from("fill", rounds).await?;
    api(rounds)
}

/// Few and many in turns, so that whatever else the machine does meets both, and each ratio is of neighbours.
async fn flat(
    kedge: &Path,
    folder: &Path,
    many: &Api,
    objects: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    let server = Server::kedge(kedge, &fresh(folder, "growth-few")?).await?;
    let few = filled(&server, objects / 100).await?;
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let mut costs = [0.0; 2];
        for (api, cost) in [&few, many].into_iter().zip(&mut costs) {
            *cost = api.run(Measure::CreateConfigmaps).await?.server_cpu_us_per_op.unwrap_or(f64::NAN);
            api.run(Measure::DeleteConfigmaps).await?;
        }
        ratios.push(costs[1] / costs[0]);
    }
    server.stop().await;
    let what = format!("CPU per create with {objects} objects ÷ with {}", objects / 100);
    table.at_most(&what, median(&mut ratios), "×", 1.2);
    Ok(())
}

/// Ten clients that list everything again and again while others write, and the log is cut short meanwhile.
async fn beside_lists(many: &Api, objects: usize, table: &mut Table) -> Result<(), BenchError> {
    // That happens whenever the log has grown by as much as is stored: nine of ten are rewritten before, and what comes then is
    // enough to make sure of it.
    let (first, rest) = (many.size.count, objects / 10);
    let writers =
        |count| Api { size: Size { connections: 8, count, bytes: many.size.bytes }, ..many.clone() };
    writers(objects - rest).config_map_updates("update", first, objects).await?;
    let (over, still) = watch::channel(false);
    let mut lists = Vec::new();
    for _ in 0..LISTS {
        let (target, still) = (many.target.clone(), still.clone());
        lists.push(tokio::spawn(async move {
            let mut connection = Connection::open(&target).await?;
            let mut times = 0_usize;
            while !*still.borrow() {
                connection.drain(Method::GET, "/api/v1/configmaps", "", Bytes::new()).await?;
                times += 1;
            }
            Ok::<_, BenchError>(times)
        }));
    }
    let before = compactions(many).await?;
    let beside = writers(3 * rest);
    let updates = beside.config_map_updates("update-beside-10-lists", first + objects - rest, rest);
    let line = named("kedge", updates.await?);
    let compacted = compactions(many).await? - before;
    // It fails only if nobody lists any more, which the next lines tell.
    let _told = over.send(true);
    let mut fewest = usize::MAX;
    for list in lists {
        fewest = fewest.min(list.await??);
    }
    table.at_least("full lists by each of ten clients beside updates", fewest as f64, "", 1.0);
    table.at_least("compactions beside them", compacted, "", 1.0);
    table.at_most(
        "update p99 beside ten full lists and a compaction",
        line.p99_ms.unwrap_or(f64::MAX),
        "ms",
        50.0,
    );
    Ok(())
}

/// How often the log was cut short since the server began.
async fn compactions(api: &Api) -> Result<f64, BenchError> {
    let text = Connection::open(&api.target).await?.text("/metrics").await?;
    let count = text.lines().find_map(|line| line.strip_prefix("kedge_store_compactions_total "));
    Ok(count.and_then(|count| count.trim().parse().ok()).unwrap_or(f64::NAN))
}
