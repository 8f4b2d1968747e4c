use super::*;
use crate::plugins::testing::*;

#[test]
fn the_fewest_pods_win() {
    let pods = ["b1", "b2", "c1"].map(|name| on(&name[..1], &pod(name, |_| ())));
    let cluster = cluster(["a", "b", "c"].map(|name| node(name, |_| ())), pods);
    assert_eq!(scored(&LeastRequest, &pod("p", |_| ()), &cluster), "a=100 b=0 c=50");
}

#[test]
fn equal_nodes_are_equally_good() {
    let mut scores = [7, 7];
    least_first(&mut scores);
    assert_eq!(scores, [MAX_SCORE, MAX_SCORE]);
}
