use super::*;

fn share(allocatable: i64, taken: i64, with_pod: i64) -> Share {
    Share { weight: 1, allocatable, taken, with_pod }
}

fn weighing(weight: i64, share: Share) -> Share {
    Share { weight, ..share }
}

fn line(points: &[(i64, i64)]) -> Vec<Point> {
    points.iter().map(|&(utilization, score)| Point { utilization, score }).collect()
}

#[test]
fn a_strategy_scores_what_would_be_used() {
    let packing = || Strategy::RequestedToCapacityRatio(line(&[(0, 0), (100, 100)]));
    for (case, strategy, shares, score) in [
        ("empty is best", Strategy::LeastAllocated, vec![share(4000, 0, 0), share(10_000, 0, 0)], 100),
        (
            "the mean of the free parts",
            Strategy::LeastAllocated,
            vec![share(4000, 0, 3000), share(10_000, 0, 5000)],
            37,
        ),
        (
            "too much is worth nothing",
            Strategy::LeastAllocated,
            vec![share(4000, 0, 6000), share(10_000, 0, 0)],
            50,
        ),
        (
            "by weight",
            Strategy::LeastAllocated,
            vec![weighing(2, share(4000, 0, 3000)), share(10_000, 0, 5000)],
            33,
        ),
        (
            "a resource that is not there does not count",
            Strategy::LeastAllocated,
            vec![share(0, 0, 5), share(10, 0, 5)],
            50,
        ),
        ("nothing there at all", Strategy::LeastAllocated, vec![share(0, 0, 5)], 0),
        ("full is best", Strategy::MostAllocated, vec![share(4000, 0, 4000), share(10_000, 0, 5000)], 75),
        ("more than there is counts as full", Strategy::MostAllocated, vec![share(10, 0, 50)], 100),
        ("on a rising line", packing(), vec![share(100, 0, 30), share(100, 0, 51)], 41),
        (
            "what scores nothing is left out of the mean",
            packing(),
            vec![share(100, 0, 0), share(100, 0, 60)],
            60,
        ),
        ("above the whole is the line's end", packing(), vec![share(10, 0, 50)], 100),
        (
            "large amounts do not overflow",
            Strategy::LeastAllocated,
            vec![share(i64::MAX, 0, i64::MAX / 2)],
            50,
        ),
    ] {
        assert_eq!(strategy.score(&shares), score, "{case}");
    }
}

#[test]
fn the_line_is_level_outside_and_straight_between() {
    let line = line(&[(10, 20), (50, 100), (90, 0)]);
    for (utilization, score) in [(0, 20), (10, 20), (30, 60), (50, 100), (70, 50), (90, 0), (100, 0)] {
        assert_eq!(on_line(&line, utilization), score, "at {utilization}");
    }
}

#[test]
fn balance_rewards_evening_out() {
    for (case, shares, score) in [
        ("even before and after", vec![share(100, 0, 50), share(100, 0, 50)], 75),
        ("the pod evens it out", vec![share(100, 50, 50), share(100, 0, 50)], 87),
        ("the pod tips it over", vec![share(100, 0, 100), share(100, 0, 0)], 50),
        ("one resource is always even", vec![share(100, 0, 70), share(0, 0, 1)], 75),
        ("three resources", vec![share(100, 0, 30), share(100, 0, 60), share(100, 0, 90)], 62),
        ("no fraction above the whole", vec![share(100, 0, 900), share(100, 0, 100)], 75),
    ] {
        assert_eq!(balance(&shares), score, "{case}");
    }
}
