//! Version 0.2 to the letter: 0.3 without the method for the extended card, which 0.2 fetches by HTTP.

use serde_json::Value;

use super::v0_3;
use crate::error::{Error, ErrorKind};
use crate::fields::Read;
use crate::model::{Answer, Call, OperationKind};

pub(crate) fn method(kind: OperationKind) -> Option<&'static str> {
    match kind {
        OperationKind::ExtendedCard => None,
        OperationKind::Send
        | OperationKind::Stream
        | OperationKind::Get
        | OperationKind::List
        | OperationKind::Cancel
        | OperationKind::Subscribe
        | OperationKind::CreatePush
        | OperationKind::GetPush
        | OperationKind::ListPush
        | OperationKind::DeletePush => v0_3::method(kind),
    }
}

pub(crate) fn read_call(kind: OperationKind, params: &Value) -> Read<Call> {
    if method(kind).is_none() {
        return Err(Error::of(ErrorKind::MethodNotFound));
    }
    v0_3::read_call(kind, params)
}

pub(crate) fn write_answer(answer: &Answer) -> Value {
    match answer {
        Answer::Card(card) => super::card_v0::write_v0_2(card),
        Answer::Sent(_)
        | Answer::Task(_)
        | Answer::Tasks(_)
        | Answer::Push(_)
        | Answer::Pushes(_)
        | Answer::Deleted => v0_3::write_answer(answer),
    }
}
