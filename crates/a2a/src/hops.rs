//! How many agents a message has come through, so that agents who ask each other come to an end.
//!
//! The protocol does not count. Saem does, in a message's metadata, which every binding carries, and in a header besides
//! for what only looks at headers. An agent that passes neither on begins anew: its own limits have to hold then.

use serde_json::Value;

use crate::model::{Message, Object};

/// The header with the number.
pub const HOPS_HEADER: &str = "Saem-Hops";

/// The metadata with the number.
pub const HOPS_KEY: &str = "saem-hops";

/// How many agents a message has come through: the largest number that is said anywhere. What is no number counts as
/// the largest there is, as nobody writes it by accident.
#[must_use]
pub fn read(header: Option<&str>, message: &Message, metadata: Option<&Object>) -> u32 {
    let said = header.map(|text| text.trim().parse().unwrap_or(u32::MAX));
    let noted = [message.metadata.as_ref(), metadata].into_iter().flatten();
    let noted = noted.filter_map(|metadata| metadata.get(HOPS_KEY)).map(number);
    noted.chain(said).max().unwrap_or(0)
}

/// Notes in a message how many agents it has come through.
pub fn write(message: &mut Message, hops: u32) {
    message.metadata.get_or_insert_default().insert(HOPS_KEY.to_owned(), hops.into());
}

/// ProtoJSON has one kind of number: 2 may come back as 2.0.
fn number(value: &Value) -> u32 {
    let whole = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let broken = || (0..=1_000).find(|number| value.as_f64() == Some(f64::from(*number)));
    whole.or_else(broken).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Part, Role};

    fn message() -> Message {
        Message {
            id: "m".parse().unwrap(),
            role: Role::User,
            parts: vec![Part::text("hi")],
            context: None,
            task: None,
            references: Vec::new(),
            extensions: Vec::new(),
            metadata: None,
        }
    }

    #[test]
    fn what_was_written_is_read_and_the_largest_counts() {
        let mut message = message();
        assert_eq!(read(None, &message, None), 0);
        write(&mut message, 2);
        assert_eq!(read(None, &message, None), 2);
        assert_eq!(read(Some("5"), &message, None), 5);
        let metadata = json!({ HOPS_KEY: 7.0 });
        assert_eq!(read(Some("5"), &message, metadata.as_object()), 7);
        write(&mut message, 9);
        assert_eq!(read(Some("5"), &message, metadata.as_object()), 9);
    }

    #[test]
    fn what_is_no_number_is_never_small() {
        let message = message();
        for odd in [json!("1"), json!(-1), json!(0.5), json!(null), json!([1]), json!(1e300)] {
            let metadata = json!({ HOPS_KEY: odd });
            assert_eq!(read(None, &message, metadata.as_object()), u32::MAX, "{metadata}");
        }
        assert_eq!(read(Some("many"), &message, None), u32::MAX);
    }
}
