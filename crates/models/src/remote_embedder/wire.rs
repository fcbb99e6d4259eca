//! The words of `POST /embeddings`, and what we make of them.

use agent::ports::PortError;
use serde::{Deserialize, Serialize};

use super::RemoteSettings;

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Some servers leave it out and keep the order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Complaint {
    error: Option<ComplaintText>,
    message: Option<String>,
    detail: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ComplaintText {
    Nested { message: String },
    Plain(String),
}

pub(super) fn request(settings: &RemoteSettings, texts: &[String]) -> Result<Vec<u8>, PortError> {
    let request = Request { model: &settings.model, input: texts, dimensions: settings.dimensions };
    serde_json::to_vec(&request).map_err(|error| PortError::Broken {
        what: "writing the request to the embedder",
        source: Box::new(error),
    })
}

/// The `count` vectors of an answer in the order of the texts, each of unit length; or what is wrong with it.
pub(super) fn vectors(answer: &[u8], count: usize) -> Result<Vec<Vec<f32>>, String> {
    let answer: Answer = serde_json::from_slice(answer).map_err(|error| {
        format!("its answer is no list of embeddings ({error}): check the base URL and the model")
    })?;
    if answer.data.len() != count {
        return Err(format!(
            "it gave {} vectors for {count} texts: make the batches smaller, or update it",
            answer.data.len()
        ));
    }
    let mut places: Vec<Option<Vec<f32>>> = vec![None; count];
    for (position, item) in answer.data.into_iter().enumerate() {
        let vector = unit(item.embedding)?;
        match places.get_mut(item.index.unwrap_or(position)) {
            Some(place) if place.is_none() => *place = Some(vector),
            _ => return Err("its vectors are not numbered one by one: update it".to_owned()),
        }
    }
    let vectors: Vec<Vec<f32>> = places.into_iter().flatten().collect();
    match vectors.first().map(Vec::len) {
        Some(length) if vectors.iter().any(|vector| vector.len() != length) => {
            Err("its vectors differ in length: choose a model for embeddings".to_owned())
        }
        _ => Ok(vectors),
    }
}

fn unit(mut vector: Vec<f32>) -> Result<Vec<f32>, String> {
    let square: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    if !square.is_finite() {
        return Err("a vector holds numbers that are none: look at its log".to_owned());
    }
    if square == 0.0 {
        return Err("a vector is empty or all zeros: choose a model for embeddings".to_owned());
    }
    let length = square.sqrt();
    for number in &mut vector {
        *number = (f64::from(*number) / length) as f32;
    }
    Ok(vector)
}

/// What the server says is wrong, in whichever of the common places it says so.
pub(super) fn complaint(body: &[u8]) -> String {
    let Ok(complaint) = serde_json::from_slice::<Complaint>(body) else {
        return String::from_utf8_lossy(body).into_owned();
    };
    let nested = complaint.error.map(|error| match error {
        ComplaintText::Nested { message } | ComplaintText::Plain(message) => message,
    });
    nested.or(complaint.message).or(complaint.detail).unwrap_or_default()
}
