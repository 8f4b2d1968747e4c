//! Tables as text.

use serde_json::json;

use super::{Shape, Widths, aligned, rows};

#[test]
fn a_table_shows_what_is_asked_for() {
    let columns = [
        json!({"name": "Name", "format": "name", "priority": 0}),
        json!({"name": "Age", "priority": 0}),
        json!({"name": "Node", "priority": 1}),
    ];
    let row = json!({"cells": ["web", "5s", "n1"], "object": {"metadata": {"namespace": "x", "labels": {"a/app": "w"}}}});
    let label = ["a/app".to_owned()];
    for (case, shape, written) in [
        ("plain", Shape { headings: true, ..Shape::default() }, "NAME   AGE\nweb    5s\n"),
        ("wide", Shape { wide: true, ..Shape::default() }, "web   5s    n1\n"),
        (
            "everything",
            Shape {
                headings: true,
                namespace: true,
                labels: true,
                label_columns: &label,
                prefix: "pod/".to_owned(),
                ..Shape::default()
            },
            "NAMESPACE   NAME      AGE   APP   LABELS\nx           pod/web   5s    w     a/app=w\n",
        ),
    ] {
        let text = aligned(&rows(&columns, std::slice::from_ref(&row), &shape), &mut Widths::default());
        assert_eq!(text, written, "{case}");
    }
}

#[test]
fn later_rows_stay_below_the_headings() {
    let mut widths = Widths::default();
    let row = |cells: [&str; 2]| vec![cells.map(str::to_owned).to_vec()];
    assert_eq!(aligned(&row(["LONG HEADING", "B"]), &mut widths), "LONG HEADING   B\n");
    assert_eq!(aligned(&row(["a", "b"]), &mut widths), "a              b\n");
}
