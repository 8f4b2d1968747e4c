//! What containerd tells by itself: which container has ended, the moment it did.

use std::path::Path;

use kedge_grpc::{CallError, Caller};

#[derive(Clone, PartialEq, prost::Message)]
struct Subscribe {
    #[prost(string, repeated, tag = "1")]
    filters: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Envelope {
    #[prost(message, optional, tag = "4")]
    event: Option<Wrapped>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Wrapped {
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// Which process of which container ended. A container's first process has the container's own name.
#[derive(Clone, PartialEq, prost::Message)]
struct Ended {
    #[prost(string, tag = "1")]
    container_id: String,
    #[prost(string, tag = "2")]
    id: String,
}

/// Tells `heard` of every container that ends, whoever else is run in one for a moment left aside, until the connection breaks. Nobody tells what happened
/// before, nor from when on it is heard: whoever calls this also looks by himself now and then.
pub async fn follow(socket: &Path, mut heard: impl FnMut(&str)) -> CallError {
    let caller = Caller::at(socket);
    let filters = vec!["namespace==\"k8s.io\",topic==\"/tasks/exit\"".to_owned()];
    let path = "/containerd.services.events.v1.Events/Subscribe";
    let mut events = match caller.follow::<_, Envelope>(path, Subscribe { filters }).await {
        Ok(events) => events,
        Err(error) => return error,
    };
    loop {
        match Caller::next("Subscribe", &mut events).await {
            Ok(Some(envelope)) => {
                let value = envelope.event.unwrap_or_default().value;
                match prost::Message::decode(&*value) {
                    Ok(Ended { container_id, id }) if id == container_id => heard(&container_id),
                    _ => {}
                }
            }
            Ok(None) => return CallError::Unreachable { call: "Subscribe", reason: "it ended".to_owned() },
            Err(error) => return error,
        }
    }
}
