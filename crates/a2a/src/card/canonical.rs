//! JSON in the one form that RFC 8785 gives to a value.

use serde_json::{Number, Value};

use crate::fields::check_nesting;

/// The value is nested too deep to have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the JSON is nested too deep")]
pub struct CanonicalError;

/// The largest whole number that every reader of JSON keeps as it is.
const WHOLE_MAX: u64 = 1 << 53;

/// Writes a value in its canonical form. A fraction of more than 15 digits may have been read as its neighbour, since
/// our parser is not exact to the last bit; cards have no such numbers.
///
/// # Errors
/// If it is nested deeper than the limit.
pub fn canonical(value: &Value) -> Result<String, CanonicalError> {
    check_nesting(value).map_err(|_| CanonicalError)?;
    let mut text = String::new();
    write(value, &mut text);
    Ok(text)
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => text.push_str(&number(value)),
        // The escapes of serde_json are those of the RFC.
        Value::String(value) => text.push_str(&Value::from(value.as_str()).to_string()),
        Value::Array(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(value, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            // By units of UTF-16, as JavaScript sorts.
            fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            text.push('{');
            for (index, (name, value)) in fields.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
    }
}

fn number(number: &Number) -> String {
    let is_exact = number.as_i64().is_some_and(|whole| whole.unsigned_abs() <= WHOLE_MAX);
    if is_exact {
        return number.to_string();
    }
    number.as_f64().map_or_else(|| number.to_string(), as_javascript)
}

/// A number as JavaScript writes it.
fn as_javascript(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let (digits, point) = shortest(number.abs());
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let split = |at: i32| {
        digits.split_at_checked(usize::try_from(at).unwrap_or_default()).unwrap_or((&digits, ""))
    };
    let written = if (count..=21).contains(&point) {
        format!("{digits}{}", zeros(point - count))
    } else if (1..=21).contains(&point) {
        let (whole, rest) = split(point);
        format!("{whole}.{rest}")
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = split(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{first}{dot}{rest}e{:+}", point - 1)
    };
    format!("{sign}{written}")
}

/// The fewest digits that read back as the number, and how many of them stand before the point. serde_json finds them
/// as JavaScript does, with ties to the even digit; the standard library does not.
fn shortest(number: f64) -> (String, i32) {
    let text = Value::from(number).to_string();
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let leading = i32::try_from(all.len() - digits.len()).unwrap_or_default();
    let whole = i32::try_from(whole.len()).unwrap_or_default();
    let exponent: i32 = exponent.parse().unwrap_or_default();
    (digits.trim_end_matches('0').to_owned(), whole - leading + exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        // The table of RFC 8785, appendix B, but for what JSON cannot hold.
        for (bits, expected) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            assert_eq!(as_javascript(f64::from_bits(bits)), expected, "{bits:x}");
        }
        assert_eq!(canonical(&json!(9_007_199_254_740_993_u64)).unwrap(), "9007199254740992");
        assert_eq!(canonical(&json!(1.0)).unwrap(), "1");
    }

    #[test]
    fn names_are_sorted_as_the_rfc_sorts_them() {
        let value = json!({
            "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh",
            "1": "One", "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control", "\u{f6}": "Latin Small Letter O",
        });
        let text = canonical(&value).unwrap();
        let order = ["\\r", "1", "\u{80}", "\u{f6}", "\u{20ac}", "\u{1f600}", "\u{fb33}"];
        let places: Vec<_> =
            order.iter().map(|name| text.find(&format!("\"{name}\":")).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn texts_are_escaped_as_the_rfc_escapes_them() {
        let value = json!({ "numbers": [333_333_333.333_333_3, 1e30, 4.50, 2e-3, 0.000_000_000_000_000_000_000_000_001],
            "string": "\u{20ac}$\u{f}\nA'B\"\\\\\"/", "literals": [null, true, false] });
        assert_eq!(
            canonical(&value).unwrap(),
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
        );
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_that_of_what_it_says(value in crate::samples::any_whole_json()) {
            let text = canonical(&value).unwrap();
            let again: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(canonical(&again).unwrap(), text);
        }
    }
}
