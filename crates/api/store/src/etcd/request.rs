//! A transaction of ours as one of etcd's, and etcd's answer as ours. Pure: sends nothing.

use super::client;
use super::client::Client;
use super::value::{self, number};
use super::wire::request_op::Request;
use super::wire::response_op::Response;
use super::wire::{
    Compare, CompareResult, CompareTarget, DeleteRangeRequest, PutRequest, RangeRequest, RequestOp,
    TxnRequest, TxnResponse,
};
use crate::txn::Op;
use crate::{Committed, Entry, Expect, StoreError, Txn, Write};

pub(crate) fn encode(txn: &Txn, client: &Client) -> Result<TxnRequest, StoreError> {
    let write = |op| Ok(RequestOp { request: Some(write(op, client)?) });
    Ok(TxnRequest {
        compare: txn.ops.iter().filter_map(|op| compare(op, client)).collect(),
        success: writes(txn).map(write).collect::<Result<_, StoreError>>()?,
        failure: txn.ops.iter().map(|op| RequestOp { request: Some(look(op, client)) }).collect(),
    })
}

pub(crate) fn decode(txn: &Txn, client: &Client, response: TxnResponse) -> Result<Committed, StoreError> {
    let revision = client::revision(response.header.as_ref());
    let mut answers = response.responses.into_iter().map(|answer| answer.response);
    if !response.succeeded {
        return Err(conflict(txn, answers));
    }
    let mut entries = Vec::with_capacity(txn.ops.len());
    for op in &txn.ops {
        entries.push(match &op.write {
            Write::Put(draft) => {
                let created = match answers.next().flatten() {
                    Some(Response::Put(put)) => put.prev_kv.map(|kv| value::revision(kv.create_revision)),
                    _ => None,
                };
                Some(Entry::fill(draft, created.unwrap_or(revision), revision))
            }
            Write::Delete => match answers.next().flatten() {
                Some(Response::Delete(deleted)) => match deleted.prev_kvs.first() {
                    Some(kv) => Some(client.entry(kv)?.1.deleted_at(revision)),
                    None => None,
                },
                _ => None,
            },
            Write::Check => None,
        });
    }
    Ok(Committed { revision, entries })
}

/// The first expectation that did not hold.
fn conflict(txn: &Txn, answers: impl Iterator<Item = Option<Response>>) -> StoreError {
    let found: Vec<_> = answers
        .map(|answer| match answer {
            Some(Response::Range(range)) => range.kvs.first().map(|kv| value::revision(kv.mod_revision)),
            _ => None,
        })
        .collect();
    let mut looked = txn.ops.iter().zip(found);
    let broken = looked.find(|(op, found)| !op.expect.holds(*found));
    // Etcd compares and looks at one moment, so one of them is broken; with no operations there is no conflict.
    let (key, expected, found) = match broken {
        Some((op, found)) => (op.key.clone(), op.expect, found),
        None => (txn.ops.first().map_or_else(|| "".into(), |op| op.key.clone()), Expect::Any, None),
    };
    StoreError::Conflict { key, expected, found }
}

fn writes(txn: &Txn) -> impl Iterator<Item = &Op> {
    txn.ops.iter().filter(|op| op.write != Write::Check)
}

fn compare(op: &Op, client: &Client) -> Option<Compare> {
    let (result, revision) = match op.expect {
        Expect::Any => return None,
        Expect::Absent => (CompareResult::Equal, 0),
        Expect::Present => (CompareResult::Greater, 0),
        // Etcd says zero for a key that is not there, which nobody means by a revision.
        Expect::At(revision) if revision.get() == 0 => (CompareResult::Equal, -1),
        Expect::At(revision) => (CompareResult::Equal, number(revision)),
    };
    Some(Compare {
        result: result.into(),
        target: CompareTarget::Mod.into(),
        key: client.key(&op.key),
        mod_revision: Some(revision),
    })
}

fn write(op: &Op, client: &Client) -> Result<Request, StoreError> {
    let key = client.key(&op.key);
    Ok(match &op.write {
        Write::Put(draft) => {
            let value = value::encode(&op.key, draft, client.sealer())?;
            Request::Put(PutRequest { key, value, prev_kv: true })
        }
        Write::Delete => Request::Delete(DeleteRangeRequest { key, prev_kv: true }),
        Write::Check => look(op, client),
    })
}

fn look(op: &Op, client: &Client) -> Request {
    Request::Range(RangeRequest { key: client.key(&op.key), keys_only: true, ..Default::default() })
}
