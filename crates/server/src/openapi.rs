//! The API's description (OpenAPI 3.1), made from the route table: it cannot name a route that is not there.

use agent::identity::Scope;
use http::StatusCode;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::guard::scope_name;
use crate::problem::ProblemBody;
use crate::routes::{Access, Content, Row, SchemaOf, Takes};

/// The document of these routes.
pub(crate) fn document<'a>(rows: impl Iterator<Item = &'a Row>, version: &str) -> Value {
    let mut generator = generator();
    let problem = generator.subschema_for::<ProblemBody<'static>>();
    let mut paths: Map<String, Value> = Map::new();
    for row in rows {
        let operation = operation(row, &mut generator);
        let path = paths.entry(row.path.replace("{*", "{")).or_insert_with(|| json!({}));
        if let Value::Object(path) = path {
            path.insert(row.method.as_str().to_ascii_lowercase(), operation);
        }
    }
    let scopes: Vec<String> = Scope::ALL.into_iter().map(scope_name).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Saem",
            "version": version,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": format!(
                        "An API key (saem_…) or a token of the configured issuer. Scopes: {}.",
                        scopes.join(", "),
                    ),
                },
                "key": { "type": "apiKey", "in": "header", "name": "x-api-key" },
                "owner": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token in the data folder's server.json, from the same machine only: \
                                    how the saem command speaks to a running server.",
                },
            },
            "responses": {
                "Problem": {
                    "description": "What went wrong, why, and what to do about it",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
        },
    })
}

/// Whether a body of this type may hold fields that nobody reads.
pub(crate) fn is_lenient(schema: SchemaOf) -> bool {
    let mut generator = generator();
    let schema = schema(&mut generator);
    let definitions = generator.take_definitions(true);
    let schema = resolved(&schema, &definitions);
    let has_properties = schema.get("properties").is_some();
    has_properties && schema.get("additionalProperties") != Some(&Value::Bool(false))
}

fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12();
    settings
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator()
}

fn operation(row: &Row, generator: &mut SchemaGenerator) -> Value {
    let mut operation = Map::new();
    operation.insert("operationId".to_owned(), operation_id(row).into());
    operation.insert("summary".to_owned(), row.summary.into());
    operation.insert("tags".to_owned(), json!([row.tag]));
    let security = match row.access {
        Access::Fixed | Access::Public => json!([]),
        Access::Open => json!([{}, { "bearer": [] }, { "key": [] }]),
        Access::Needs(scope) => {
            operation.insert("x-scope".to_owned(), scope_name(scope).into());
            json!([{ "bearer": [] }, { "key": [] }])
        }
        Access::Owner => json!([{ "owner": [] }]),
    };
    operation.insert("security".to_owned(), security);
    let parameters = parameters(row, generator);
    if !parameters.is_empty() {
        operation.insert("parameters".to_owned(), parameters.into());
    }
    if let Some(content) = body_content(row, generator) {
        let body = json!({ "required": true, "content": content });
        operation.insert("requestBody".to_owned(), body);
    }
    operation.insert("responses".to_owned(), responses(row, generator));
    operation.into()
}

/// `GET /api/documents/{id}` is `get_api_documents_id`.
fn operation_id(row: &Row) -> String {
    let method = row.method.as_str().to_ascii_lowercase();
    let words =
        row.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(method.as_str()).chain(words).collect::<Vec<_>>().join("_")
}

fn body_content(row: &Row, generator: &mut SchemaGenerator) -> Option<Value> {
    match row.takes {
        Takes::Nothing => None,
        Takes::Json(schema) => Some(json!({ "application/json": { "schema": schema(generator) } })),
        Takes::Bytes(media_type) => Some(json!({ media_type: {} })),
        Takes::Upload(schema) => {
            let json = schema(generator);
            Some(json!({
                "application/json": { "schema": json },
                "multipart/form-data": { "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": { "file": { "type": "string", "format": "binary" } },
                } },
            }))
        }
    }
}

fn responses(row: &Row, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for gives in &row.gives {
        let description = gives.status.canonical_reason().unwrap_or("answer");
        let response = match gives.content {
            Content::Nothing => json!({ "description": description }),
            Content::Json(schema) => json!({
                "description": description,
                "content": { "application/json": { "schema": schema(generator) } },
            }),
            Content::Other(media_type) => {
                json!({ "description": description, "content": { media_type: {} } })
            }
        };
        // One status may come in several forms, as the caller wants it.
        let known = responses.entry(gives.status.as_str()).or_insert_with(|| response.clone());
        if let (Some(known), Some(more)) = (
            known.get_mut("content").and_then(Value::as_object_mut),
            response.get("content").and_then(Value::as_object),
        ) {
            known.extend(more.clone());
        }
    }
    let problem = json!({ "$ref": "#/components/responses/Problem" });
    if let Access::Needs(_) = row.access {
        for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
            responses.insert(status.as_str().to_owned(), problem.clone());
        }
    }
    responses.insert("default".to_owned(), problem);
    responses.into()
}

fn parameters(row: &Row, generator: &mut SchemaGenerator) -> Vec<Value> {
    let in_path = row.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?.trim_start_matches('*');
        let schema = json!({ "type": "string" });
        Some(json!({ "name": name, "in": "path", "required": true, "schema": schema }))
    });
    let mut parameters: Vec<Value> = in_path.collect();
    if let Some(query) = row.query {
        parameters.extend(query_parameters(&query(generator)));
    }
    parameters
}

fn query_parameters(schema: &Schema) -> Vec<Value> {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let parameter = |(name, schema): (&String, &Value)| {
        let mut parameter = json!({ "name": name, "in": "query", "schema": schema });
        if let Value::Object(parameter) = &mut parameter {
            let needed = required.iter().any(|known| known.as_str() == Some(name));
            parameter.insert("required".to_owned(), needed.into());
            if let Some(description) = schema.get("description") {
                parameter.insert("description".to_owned(), description.clone());
            }
        }
        parameter
    };
    properties.iter().map(parameter).collect()
}

fn resolved<'a>(schema: &'a Schema, definitions: &'a Map<String, Value>) -> &'a Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    let reference = schema.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|reference| reference.rsplit('/').next());
    match name {
        Some(name) => definitions.get(name).and_then(Value::as_object).unwrap_or(&EMPTY),
        None => schema.as_object().unwrap_or(&EMPTY),
    }
}
