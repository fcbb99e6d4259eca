//! Checks data that a tool gave against the schema that the tool itself has promised, at a bounded cost.
//!
//! It knows the words of JSON Schema that people use for results. A word that it does not know, such as a pattern, says
//! nothing; a reference leads only to a definition of the same schema.

use std::fmt;

use serde_json::Value;

/// Comparisons of a value with a schema: a thousand rows of ten fields. What is larger is not checked to its end.
const STEPS_MAX: usize = 20_000;

/// How deep data and schemas are followed.
const DEPTH_MAX: usize = 64;

/// Bytes of a place that are told.
const PLACE_BYTES_MAX: usize = 200;

/// What does not fit: where it stands, and what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    place: String,
    why: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.place.is_empty() { "it" } else { self.place.as_str() };
        write!(f, "{place} {}", self.why)
    }
}

/// The first thing of `data` that does not fit `schema`; none if all of it does, as far as it was looked at.
#[must_use]
pub fn misfit(schema: &Value, data: &Value) -> Option<Misfit> {
    let mut check = Check { root: schema, steps_left: STEPS_MAX };
    check.value(schema, data, "", DEPTH_MAX)
}

struct Check<'a> {
    root: &'a Value,
    steps_left: usize,
}

impl Check<'_> {
    fn value(&mut self, schema: &Value, data: &Value, place: &str, depth: usize) -> Option<Misfit> {
        if self.steps_left == 0 || depth == 0 {
            return None;
        }
        self.steps_left -= 1;
        let wrong = |why: String| {
            Some(Misfit { place: crate::text::clip(place, PLACE_BYTES_MAX).to_owned(), why })
        };
        let words = match schema {
            Value::Bool(false) => return wrong("is not allowed".to_owned()),
            Value::Object(words) => words,
            _ => return None,
        };
        if let Some(kind) = words.get("type")
            && !has_type(kind, data)
        {
            return wrong(format!("has to be of type {kind}"));
        }
        if words.get("const").is_some_and(|only| only != data) {
            return wrong("is another value than the only one".to_owned());
        }
        let choices = words.get("enum").and_then(Value::as_array);
        if choices.is_some_and(|choices| !choices.contains(data)) {
            return wrong("is none of the choices".to_owned());
        }
        if let Some(why) = out_of_bounds(schema, data) {
            return wrong(why);
        }
        if let Some(target) = self.definition(words.get("$ref"))
            && let Some(misfit) = self.value(&target, data, place, depth - 1)
        {
            return Some(misfit);
        }
        self.combined(schema, data, place, depth).or_else(|| self.parts(schema, data, place, depth))
    }

    /// What a reference within the schema leads to.
    fn definition(&self, reference: Option<&Value>) -> Option<Value> {
        let pointer = reference?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer).cloned()
    }

    fn combined(
        &mut self,
        schema: &Value,
        data: &Value,
        place: &str,
        depth: usize,
    ) -> Option<Misfit> {
        let list = |word: &str| schema.get(word).and_then(Value::as_array).cloned();
        for each in list("allOf").unwrap_or_default() {
            if let Some(misfit) = self.value(&each, data, place, depth - 1) {
                return Some(misfit);
            }
        }
        for word in ["anyOf", "oneOf"] {
            let Some(all) = list(word) else { continue };
            let fits = all.iter().any(|one| self.value(one, data, place, depth - 1).is_none());
            if !fits && !all.is_empty() {
                return Some(Misfit {
                    place: place.to_owned(),
                    why: "fits none of its forms".to_owned(),
                });
            }
        }
        None
    }

    fn parts(&mut self, schema: &Value, data: &Value, place: &str, depth: usize) -> Option<Misfit> {
        match data {
            Value::Object(fields) => {
                let required = schema.get("required").and_then(Value::as_array);
                let mut required = required.into_iter().flatten().filter_map(Value::as_str);
                if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
                    return Some(Misfit {
                        place: inside(place, missing),
                        why: "is missing".to_owned(),
                    });
                }
                let known = schema.get("properties");
                let others = schema.get("additionalProperties");
                fields.iter().find_map(|(name, inner)| {
                    let own = known.and_then(|known| known.get(name));
                    let schema =
                        own.or(others.filter(|_| schema.get("patternProperties").is_none()))?;
                    self.value(schema, inner, &inside(place, name), depth - 1)
                })
            }
            Value::Array(items) => {
                let each = schema.get("items")?;
                let numbered = items.iter().enumerate();
                let mut numbered = numbered.skip(prefix_length(schema));
                numbered.find_map(|(number, item)| {
                    self.value(each, item, &inside(place, &number.to_string()), depth - 1)
                })
            }
            _ => None,
        }
    }
}

/// Items before these have schemas of their own.
fn prefix_length(schema: &Value) -> usize {
    schema.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len)
}

fn inside(place: &str, name: &str) -> String {
    let name = crate::text::clip(name, PLACE_BYTES_MAX);
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn has_type(kind: &Value, data: &Value) -> bool {
    match kind {
        Value::String(name) => match name.as_str() {
            "null" => data.is_null(),
            "boolean" => data.is_boolean(),
            "string" => data.is_string(),
            "array" => data.is_array(),
            "object" => data.is_object(),
            "number" => data.is_number(),
            "integer" => data.as_f64().is_some_and(|number| number.fract() == 0.0),
            _ => true,
        },
        Value::Array(kinds) => kinds.iter().any(|kind| has_type(kind, data)),
        _ => true,
    }
}

fn out_of_bounds(schema: &Value, data: &Value) -> Option<String> {
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let (size, least, most) = match data {
        Value::Number(number) => (number.as_f64()?, "minimum", "maximum"),
        Value::String(text) => (text.chars().count() as f64, "minLength", "maxLength"),
        Value::Array(items) => (items.len() as f64, "minItems", "maxItems"),
        Value::Object(fields) => (fields.len() as f64, "minProperties", "maxProperties"),
        Value::Null | Value::Bool(_) => return None,
    };
    let is_low = bound(least).is_some_and(|least| size < least);
    let is_high = bound(most).is_some_and(|most| size > most);
    match (is_low, is_high) {
        (true, _) => Some(format!("is below its {least}")),
        (_, true) => Some(format!("is above its {most}")),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, data: &Value, expected: Option<&str>) {
        let found = misfit(schema, data).map(|misfit| misfit.to_string());
        assert_eq!(found.as_deref(), expected, "{data}");
    }

    #[test]
    fn data_that_is_as_promised_fits_and_the_first_misfit_is_told_with_its_place() {
        let schema = json!({"type": "object", "required": ["city"], "additionalProperties": false, "properties": {
            "city": {"type": "string", "minLength": 1}, "days": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/day"}}},
            "$defs": {"day": {"type": "object", "properties": {"high": {"type": "integer"}, "sky": {"enum": ["clear", "rain"]}}}}});
        check(
            &schema,
            &json!({"city": "서울", "days": [{"high": 3, "sky": "rain"}, {"high": 4.0}]}),
            None,
        );
        check(&schema, &json!({}), Some("city is missing"));
        check(&schema, &json!({"city": ""}), Some("city is below its minLength"));
        check(&schema, &json!({"city": "a", "x": 1}), Some("x is not allowed"));
        check(
            &schema,
            &json!({"city": "a", "days": [{"high": "warm"}]}),
            Some("days.0.high has to be of type \"integer\""),
        );
        check(
            &schema,
            &json!({"city": "a", "days": [{}, {"sky": "fog"}]}),
            Some("days.1.sky is none of the choices"),
        );
        check(
            &schema,
            &json!({"city": "a", "days": [{}, {}, {}]}),
            Some("days is above its maxItems"),
        );
        check(&schema, &json!([]), Some("it has to be of type \"object\""));
    }

    #[test]
    fn forms_are_tried_one_after_the_other() {
        let schema = json!({"anyOf": [{"type": "null"}, {"type": ["integer", "string"]}]});
        check(&schema, &json!(null), None);
        check(&schema, &json!("x"), None);
        check(&schema, &json!([]), Some("it fits none of its forms"));
        check(
            &json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}),
            &json!(3),
            Some("it is above its maximum"),
        );
    }

    #[test]
    fn a_schema_made_to_cost_costs_little() {
        let mut forms =
            json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}], "type": "object"});
        check(&forms, &json!({}), None);
        forms["properties"] = json!({"a": {"$ref": "#"}});
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({"a": deep, "b": deep.is_null()});
        }
        check(&forms, &deep, None);
        check(&json!({"$ref": "http://127.0.0.1/x"}), &json!(1), None);
        check(&json!({"pattern": "^(a+)+$"}), &json!("a".repeat(100)), None);
    }
}
