//! Lays an applied configuration over the live object, by schema. Removes nothing and knows no owner.

use std::collections::{HashMap, HashSet, VecDeque};

use kedge_kinds::schema::{ListType, Node};
use serde_json::Value;

use super::element;
use super::shape::is_one_value;

pub(super) fn combine(node: Node<'_>, live: Value, config: &Value) -> Value {
    walk(Some(node), live, config)
}

/// Without a node the schema says nothing: maps are merged, lists are one value.
fn walk(node: Option<Node<'_>>, live: Value, config: &Value) -> Value {
    if is_one_value(node) {
        return config.clone();
    }
    match (live, config) {
        (Value::Object(mut live), Value::Object(config)) => {
            for (key, value) in config {
                let below = node.and_then(|node| node.key(key));
                match live.get_mut(key) {
                    Some(live) => *live = walk(below, live.take(), value),
                    None => {
                        live.insert(key.clone(), value.clone());
                    }
                }
            }
            Value::Object(live)
        }
        (Value::Array(live), Value::Array(config)) => {
            match node.filter(|node| *node.list_type() != ListType::Atomic) {
                Some(list) => Value::Array(lists(list, &live, config)),
                None => Value::Array(config.clone()),
            }
        }
        // A null says nothing about a map or a list; it is a value only where a scalar stands.
        (Value::Object(fields), Value::Null) if !fields.is_empty() => Value::Object(fields),
        (Value::Array(items), Value::Null)
            if !items.is_empty() && node.is_some_and(|node| *node.list_type() != ListType::Atomic) =>
        {
            Value::Array(items)
        }
        _ => config.clone(),
    }
}

/// Items of both lists by their keys. Those in the configuration stand in its order; those that only the live list has
/// keep their place among the others.
fn lists(list: Node<'_>, live: &[Value], config: &[Value]) -> Vec<Value> {
    let steps = |items: &[Value]| -> Vec<Option<String>> {
        items.iter().map(|item| element::step(list, item)).collect()
    };
    let (live_steps, config_steps) = (steps(live), steps(config));
    // A live item whose key is not its own is not merged with, only replaced.
    let mut by_step: HashMap<&str, Option<&Value>> = HashMap::new();
    for (step, item) in live_steps.iter().zip(live) {
        if let Some(step) = step {
            by_step.entry(step).and_modify(|seen| *seen = None).or_insert(Some(item));
        }
    }
    let wanted: HashSet<&str> = config_steps.iter().flatten().map(String::as_str).collect();
    let mut shared: VecDeque<&str> =
        config_steps.iter().flatten().map(String::as_str).filter(|step| by_step.contains_key(step)).collect();
    let merge = |step: Option<&str>, item: &Value| match step.and_then(|step| by_step.get(step)) {
        Some(Some(live)) => walk(list.item(), (*live).clone(), item),
        _ => item.clone(),
    };

    let mut merged = Vec::with_capacity(live.len().max(config.len()));
    let mut placed: HashSet<&str> = HashSet::new();
    let mut lives = live_steps.iter().map(Option::as_deref).zip(live).peekable();
    let mut configs = config_steps.iter().map(Option::as_deref).zip(config).peekable();
    loop {
        if let Some(&(step, item)) = lives.peek() {
            let Some(step) = step.filter(|step| wanted.contains(step)) else {
                merged.push(item.clone());
                lives.next();
                continue;
            };
            let next = configs.peek().map(|(next, _)| *next);
            if next == Some(Some(step)) {
                lives.next();
            } else if next.is_some() && shared.front().is_some_and(|turn| *turn != step) {
                // It will be placed where the configuration has it.
                lives.next();
                continue;
            } else if placed.contains(step) {
                lives.next();
            }
        }
        let Some((step, item)) = configs.next() else {
            if lives.peek().is_none() {
                return merged;
            }
            continue;
        };
        merged.push(merge(step, item));
        if let Some(step) = step {
            placed.insert(step);
            if shared.front() == Some(&step) {
                shared.pop_front();
            }
        }
    }
}
