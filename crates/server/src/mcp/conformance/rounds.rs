//! Fixtures of the newer era that need something from the client first, and get it with the next round of the same call.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, InputRequests, InputRequiredResult,
    InputResponses, Tool,
};
use serde_json::{Value, json};

use super::{Fixtures, elicitation, plain, request, said};
use crate::mcp::offer::Asked;
use crate::mcp::state::Belongs;

pub(super) const PREFIX: &str = "test_input_required_result_";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        plain("test_input_required_result_elicitation", "Asks for a name"),
        plain("test_input_required_result_sampling", "Asks the client's model"),
        plain("test_input_required_result_list_roots", "Asks for the client's roots"),
        plain("test_input_required_result_request_state", "Asks with a state"),
        plain("test_input_required_result_multiple_inputs", "Asks for three things at once"),
        plain("test_input_required_result_multi_round", "Asks twice"),
        plain("test_input_required_result_tampered_state", "Refuses a state that was changed"),
        plain("test_input_required_result_capabilities", "Asks for what the client can do"),
        plain("test_streaming_elicitation", "Asks without a request on the stream"),
    ]
}

pub(super) fn call(
    fixtures: &Fixtures,
    suffix: &str,
    call: &CallToolRequestParams,
    asked: &Asked,
) -> Result<CallToolResponse, ErrorData> {
    let round = Round { fixtures, call, asked };
    match suffix {
        "elicitation" => round.elicitation(),
        "sampling" => round.sampling(),
        "list_roots" => round.roots(),
        "request_state" => round.confirmed("state-ok"),
        "tampered_state" => round.confirmed("The state is as it was."),
        "multiple_inputs" => round.three(),
        "multi_round" => round.twice(),
        "capabilities" => round.capable(),
        _ => Err(ErrorData::invalid_params("there is no such tool", None)),
    }
}

/// Asks for a name; the whole of a tool that never hears it.
pub(super) fn ask_name() -> Result<CallToolResponse, ErrorData> {
    ask([("user_name", name_form())], None)
}

/// The name that a client has sent, if it has.
pub(super) fn name_in(responses: Option<&InputResponses>) -> Option<&str> {
    filled(responses?.get("user_name")?, "name")?.as_str()
}

struct Round<'a> {
    fixtures: &'a Fixtures,
    call: &'a CallToolRequestParams,
    asked: &'a Asked,
}

impl Round<'_> {
    fn response(&self, key: &str) -> Option<&Value> {
        self.call.input_responses.as_ref()?.get(key)
    }

    fn belongs(&self) -> Belongs<'_> {
        Belongs {
            principal: &self.asked.principal,
            method: "tools/call",
            name: &self.call.name,
            arguments: self.call.arguments.as_ref(),
        }
    }

    fn sealed(&self, state: &str) -> Option<String> {
        Some(self.fixtures.seal.seal(state, &self.belongs()))
    }

    /// The state that came back; none on the first round.
    fn state(&self) -> Result<Option<String>, ErrorData> {
        let given = self.call.request_state.as_deref();
        given.map(|sealed| self.fixtures.seal.open(sealed, &self.belongs())).transpose()
    }

    fn elicitation(&self) -> Result<CallToolResponse, ErrorData> {
        match name_in(self.call.input_responses.as_ref()) {
            Some(name) => Ok(said(format!("Hello, {name}!"))),
            None => ask_name(),
        }
    }

    fn sampling(&self) -> Result<CallToolResponse, ErrorData> {
        match self.response("capital_question").and_then(sampled) {
            Some(answer) => Ok(said(format!("The model says: {answer}"))),
            None => {
                let form = sampling_request("What is the capital of France?", 100);
                ask([("capital_question", form)], None)
            }
        }
    }

    fn roots(&self) -> Result<CallToolResponse, ErrorData> {
        match self.response("client_roots").and_then(roots_in) {
            Some(roots) => Ok(said(format!("The roots are: {roots}"))),
            None => ask([("client_roots", roots_request())], None),
        }
    }

    fn confirmed(&self, text: &str) -> Result<CallToolResponse, ErrorData> {
        let is_confirmed = self.response("confirm").and_then(|form| filled(form, "ok")).is_some();
        match self.state()? {
            Some(_) if is_confirmed => Ok(said(text)),
            Some(_) | None => {
                let form = elicitation("Go on?", json!({ "ok": { "type": "boolean" } }), &["ok"]);
                ask([("confirm", form)], self.sealed("waiting"))
            }
        }
    }

    fn three(&self) -> Result<CallToolResponse, ErrorData> {
        let name = name_in(self.call.input_responses.as_ref());
        let greeting = self.response("greeting").and_then(sampled);
        let roots = self.response("client_roots").and_then(roots_in);
        match (self.state()?, name, greeting, roots) {
            (Some(_), Some(name), Some(greeting), Some(roots)) => {
                Ok(said(format!("{greeting}, {name}! Your roots: {roots}")))
            }
            _ => {
                let wanted = [
                    ("user_name", name_form()),
                    ("greeting", sampling_request("Generate a greeting", 50)),
                    ("client_roots", roots_request()),
                ];
                ask(wanted, self.sealed("waiting"))
            }
        }
    }

    fn twice(&self) -> Result<CallToolResponse, ErrorData> {
        let state = self.state()?;
        let text = |key: &str, field: &str| {
            let found = self.response(key).and_then(|form| filled(form, field));
            found.and_then(Value::as_str).map(str::to_owned)
        };
        let known = state.as_deref().and_then(|state| state.strip_prefix("name:"));
        let property = |name: &str| json!({ name: { "type": "string" } });
        match (known, text("step1", "name"), text("step2", "color")) {
            (Some(name), _, Some(color)) => Ok(said(format!("{name} likes {color}."))),
            (Some(name), _, None) => {
                let form = elicitation("Which color?", property("color"), &["color"]);
                ask([("step2", form)], self.sealed(&format!("name:{name}")))
            }
            (None, Some(name), _) if state.is_some() => {
                let form = elicitation("Which color?", property("color"), &["color"]);
                ask([("step2", form)], self.sealed(&format!("name:{name}")))
            }
            (None, _, _) => {
                let form = elicitation("What is your name?", property("name"), &["name"]);
                ask([("step1", form)], self.sealed("first"))
            }
        }
    }

    fn capable(&self) -> Result<CallToolResponse, ErrorData> {
        if self.call.input_responses.is_some() {
            return Ok(said("Everything that the client can do was asked for."));
        }
        let capabilities = self.asked.context.client_capabilities().unwrap_or_default();
        let mut wanted = Vec::new();
        if capabilities.elicitation.is_some() {
            wanted.push(("user_name", name_form()));
        }
        if capabilities.sampling.is_some() {
            wanted.push(("greeting", sampling_request("Generate a greeting", 50)));
        }
        if capabilities.roots.is_some() {
            wanted.push(("client_roots", roots_request()));
        }
        if wanted.is_empty() {
            return Ok(said("The client can do nothing of this."));
        }
        ask(wanted, None)
    }
}

fn ask<'a>(
    wanted: impl IntoIterator<Item = (&'a str, Value)>,
    state: Option<String>,
) -> Result<CallToolResponse, ErrorData> {
    let mut requests = InputRequests::new();
    for (key, value) in wanted {
        requests.insert(key.to_owned(), request(value)?);
    }
    Ok(InputRequiredResult::new(Some(requests), state).into())
}

pub(super) fn name_form() -> Value {
    elicitation("What is your name?", json!({ "name": { "type": "string" } }), &["name"])
}

fn sampling_request(prompt: &str, tokens_max: u32) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = json!({ "messages": [message], "maxTokens": tokens_max });
    json!({ "method": "sampling/createMessage", "params": params })
}

fn roots_request() -> Value {
    json!({ "method": "roots/list" })
}

/// A field of a form that was filled in, if it was.
pub(super) fn filled<'a>(response: &'a Value, field: &str) -> Option<&'a Value> {
    (response.get("action")? == "accept").then_some(())?;
    response.get("content")?.get(field)
}

fn sampled(response: &Value) -> Option<&str> {
    response.get("content")?.get("text")?.as_str()
}

fn roots_in(response: &Value) -> Option<String> {
    let roots = response.get("roots")?.as_array()?;
    let uris = roots.iter().filter_map(|root| root.get("uri")?.as_str());
    Some(uris.collect::<Vec<_>>().join(", "))
}
