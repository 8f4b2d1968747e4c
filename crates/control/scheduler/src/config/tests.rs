use serde_json::json;

use super::*;

fn names(profile: &Profile) -> (Vec<&'static str>, Vec<(&'static str, i64)>) {
    let filters = profile.filters.iter().map(|filter| filter.name()).collect();
    (filters, profile.scores.iter().map(|(score, weight)| (score.name(), *weight)).collect())
}

#[test]
fn the_default_is_that_of_kubernetes() {
    let profiles = Config::default().made().unwrap();
    let (filters, scores) = names(&profiles[0]);
    assert_eq!(
        (profiles.len(), &*profiles[0].scheduler, profiles[0].preempts),
        (1, "default-scheduler", true)
    );
    assert_eq!(
        filters,
        [
            "NodeUnschedulable",
            "NodeName",
            "TaintToleration",
            "NodeAffinity",
            "NodePorts",
            "NodeResourcesFit",
            "VolumeRestrictions",
            "NodeVolumeLimits",
            "VolumeBinding",
            "VolumeZone",
            "PodTopologySpread",
            "InterPodAffinity",
        ]
    );
    assert_eq!(
        scores,
        [
            ("TaintToleration", 3),
            ("NodeAffinity", 2),
            ("NodeResourcesFit", 1),
            ("PodTopologySpread", 2),
            ("InterPodAffinity", 2),
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
        ]
    );
}

#[test]
fn a_file_of_kubernetes_chooses_plugins_weights_and_arguments() {
    let config = Config::read(&json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": false},
        "percentageOfNodesToScore": 30,
        "profiles": [
            {"schedulerName": "default-scheduler"},
            {
                "schedulerName": "packer",
                "plugins": {
                    "multiPoint": {"disabled": [{"name": "ImageLocality"}]},
                    "score": {
                        "enabled": [{"name": "NodeResourcesFit", "weight": 9}, {"name": "TaintToleration"}],
                        "disabled": [{"name": "*"}],
                    },
                    "filter": {"disabled": [{"name": "NodePorts"}]},
                    "postFilter": {"disabled": [{"name": "DefaultPreemption"}]},
                },
                "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}],
            },
        ],
    }))
    .unwrap();
    let profiles = config.made().unwrap();
    let (filters, scores) = names(&profiles[1]);
    assert_eq!(scores, [("TaintToleration", 3), ("NodeResourcesFit", 9)]);
    assert!(!filters.contains(&"NodePorts") && filters.contains(&"NodeAffinity"), "{filters:?}");
    assert_eq!((profiles[0].percentage, profiles[0].preempts, profiles[1].preempts), (30, true, false));
}

#[test]
fn a_policy_takes_the_place_of_the_scores_by_request() {
    for (policy, plugin, measures) in
        [("LeastRequest", "LeastRequest", false), ("LeastUtilization", "LeastUtilization", true)]
    {
        let config = Config::read(&json!({"policy": policy})).unwrap();
        let (_, scores) = names(&config.made().unwrap()[0]);
        let scores: Vec<&str> = scores.into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            scores,
            ["TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity", plugin]
        );
        assert_eq!(config.measures(), measures);
    }
}

#[test]
fn mistakes_are_named() {
    for (value, wanted) in [
        (
            json!({"percentageOfNodesToScore": 101}),
            "percentageOfNodesToScore is 101; it must be from 0 to 100",
        ),
        (json!({"podInitialBackoffSeconds": 20}), "podMaxBackoffSeconds is 10; it must be from 20 to 86400"),
        (json!({"profiles": [{}, {}]}), "the profile default-scheduler is there twice"),
        (
            json!({"profiles": [{"plugins": {"score": {"enabled": [{"name": "Nope"}]}}}]}),
            "profile default-scheduler: there is no plugin Nope",
        ),
        (
            json!({"policy": "Nope"}),
            "the scheduler's configuration: unknown variant `Nope`, expected one of `Default`, `LeastRequest`, `LeastUtilization`",
        ),
    ] {
        let error = Config::read(&value).unwrap_err();
        let mut said = error.to_string();
        if let Some(source) = std::error::Error::source(&error) {
            said = format!("{said}: {source}");
        }
        assert_eq!(said, wanted);
    }
}
