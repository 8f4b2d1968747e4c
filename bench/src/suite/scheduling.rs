//! How many pods a second get their node.

use std::path::Path;

use super::server::Server;
use super::{CONNECTIONS, Programs, Table, fresh, median, named};
use crate::measures::{Api, Load};
use crate::{BenchError, Size, report};

pub(super) async fn scheduling(
    programs: &Programs,
    folder: &Path,
    scale: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    report::note("pods bound to nodes…");
    for (load, wanted) in [(Load::PLAIN.divided_by(scale), 2_000.0), (Load::PICKY.divided_by(scale), 500.0)] {
        let mut rates = Vec::new();
        for round in 0..3 {
            let data = fresh(folder, &format!("{}-{round}", load.name))?;
            let server = Server::kedge(&programs.kedge, &data).await?;
            let size = Size { connections: CONNECTIONS, count: 0, bytes: 0 };
            let api = Api { target: server.target()?, size, server: Some(server.pid) };
            api.make_namespace().await?;
            rates.push(named("kedge", api.bind(load).await?).per_second);
            server.stop().await;
        }
        table.at_least(load.title, median(&mut rates), "pods/s", wanted);
    }
    Ok(())
}
