//! ImageLocality: better a node that has the pod's images already, the larger the better, and the more so the more nodes
//! have them; otherwise the first node to pull an image would get all pods.

use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{MAX_SCORE, PreparedScore, Score};
use crate::pod::PodView;

const MEBIBYTE: i64 = 1024 * 1024;
/// Less than this on a node is worth nothing.
const LITTLE: i64 = 23 * MEBIBYTE;
/// More than this for each container is worth no more.
const MUCH: i64 = 1000 * MEBIBYTE;

pub struct ImageLocality;

impl Score for ImageLocality {
    fn name(&self) -> &'static str {
        "ImageLocality"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
        _: &[&'a Node],
    ) -> Option<Box<dyn PreparedScore + 'a>> {
        let images = pod.images.iter().map(|image| tagged(image));
        let images = images.map(|image| {
            let spread = cluster.nodes_with_image(&image) as f64 / cluster.len().max(1) as f64;
            (image, spread)
        });
        let present: Vec<_> = images.filter(|(_, spread)| *spread > 0.0).collect();
        let containers = i64::try_from(pod.images.len()).unwrap_or(1);
        (!present.is_empty()).then(|| Box::new(Present { images: present, containers }) as _)
    }
}

struct Present {
    /// With the share of all nodes that have them.
    images: Vec<(String, f64)>,
    containers: i64,
}

impl PreparedScore for Present {
    fn score(&self, node: &Node) -> i64 {
        let there = self.images.iter().filter_map(|(image, spread)| Some((*node.images.get(image)?, spread)));
        let sum: i64 = there.map(|(size, spread)| (size as f64 * spread) as i64).sum();
        let most = MUCH * self.containers;
        MAX_SCORE * (sum.clamp(LITTLE, most) - LITTLE) / (most - LITTLE)
    }
}

/// Nodes list their images with tags.
fn tagged(image: &str) -> String {
    let last_part = image.rsplit('/').next().unwrap_or(image);
    if last_part.contains(':') { image.to_owned() } else { format!("{image}:latest") }
}

#[cfg(test)]
mod tests;
