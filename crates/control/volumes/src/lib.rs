//! Claims and volumes: which belongs to which, making local ones, and keeping those in use. Knows no node: what has to happen
//! where the data lies is left to whoever runs there. Walk: step 6, inside `control/engine`.

mod annotations;
mod bind;
mod careful;
mod claims;
mod classes;
mod ephemeral;
mod fit;
mod local_path;
mod protection;
#[cfg(test)]
mod testing;
mod volumes;

use kedge_engine::Engine;

use self::careful::Careful;

/// Gives an engine every controller of this crate.
pub fn join(engine: Engine) -> Engine {
    let claims = Careful::new(claims::Claims, &engine);
    let volumes = Careful::new(volumes::Volumes, &engine);
    let unused = Careful::new(protection::Claims, &engine);
    engine
        .with_worker(claims)
        .with_worker(volumes)
        .with_worker(unused)
        .with(protection::Volumes)
        .with(ephemeral::EphemeralVolumes)
        .with(local_path::Class)
        .with(local_path::Provisioner)
        .with(local_path::Remover)
}
