//! ServiceCIDRs and IPAddresses: from where cluster addresses come, and who holds one.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use crate::strategies::fields::{at, fill, has, list, same, text, texts};
use crate::strategies::names;
use crate::strategies::role::path_segment;
use crate::strategy::{NameRule, Strategy};

pub(in crate::strategies) struct Ranges;
pub(in crate::strategies) struct Addresses;

impl Strategy for Ranges {
    fn default(&self, range: &mut Value) {
        fill(range, "status", Map::new());
    }

    fn prepare_create(&self, range: &mut Value) {
        fill(range, "status", Map::new());
    }

    fn validate(&self, range: &Value, errors: &mut Errors) {
        let path = Path::root("spec");
        let path = path.child("cidrs");
        let all = at(at(range, "spec"), "cidrs");
        let ranges: Vec<&str> = texts(at(range, "spec"), "cidrs").collect();
        if ranges.is_empty() {
            return errors.required(&path, "at least one CIDR required");
        }
        if ranges.len() > 2 {
            return errors.invalid(&path, all, "may only hold up to 2 values");
        }
        for (i, one) in ranges.iter().enumerate() {
            names::range(errors, &path.index(i), one);
        }
        let families: Vec<bool> = ranges
            .iter()
            .filter_map(|one| names::parse_range(one))
            .map(|(address, _)| address.is_ipv4())
            .collect();
        if families.len() == 2 && families.first() == families.last() {
            let detail =
                "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
            errors.invalid(&path, all, detail);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        let path = Path::root("spec");
        let path = path.child("cidrs");
        let (now, before) = (list(at(new, "spec"), "cidrs"), list(at(old, "spec"), "cidrs"));
        for (i, (now, before)) in now.iter().zip(before).enumerate() {
            if now != before {
                errors.invalid(&path.index(i), now, "field is immutable");
            }
        }
        // A second family may be added to the first.
        if now.len() != before.len() && (before.len(), now.len()) != (1, 2) {
            errors.invalid(&path, at(at(new, "spec"), "cidrs"), "field is immutable");
        }
    }
}

impl Strategy for Addresses {
    fn name_rule(&self) -> NameRule {
        NameRule::Address
    }

    fn validate(&self, address: &Value, errors: &mut Errors) {
        let path = Path::root("spec");
        let path = path.child("parentRef");
        if !has(at(address, "spec"), "parentRef") {
            return errors.required(&path, "");
        }
        let parent = at(at(address, "spec"), "parentRef");
        let group = text(parent, "group");
        if !group.is_empty() {
            names::subdomain(errors, &path.child("group"), group);
        }
        for field in ["resource", "name"] {
            match text(parent, field) {
                "" => errors.required(&path.child(field), ""),
                value => path_segment(errors, &path.child(field), value),
            }
        }
        let namespace = text(parent, "namespace");
        if !namespace.is_empty() {
            path_segment(errors, &path.child("namespace"), namespace);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        let (now, before) = (at(at(new, "spec"), "parentRef"), at(at(old, "spec"), "parentRef"));
        if !same(now, before) {
            errors.invalid(&Path::root("spec").child("parentRef"), now, "field is immutable");
        }
    }
}
