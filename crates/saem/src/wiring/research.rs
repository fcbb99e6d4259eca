//! Puts research together: the documents, the journal and the model that answers.

use std::sync::Arc;

use anyhow::Result;
use engine::research::{ResearchParts, Researcher};

use super::{Installation, copilot};
use crate::config::Config;
use crate::system::{SystemClock, SystemEntropy};

/// Research over an installation's documents.
pub(crate) async fn researcher(config: &Config, installation: &Installation) -> Result<Researcher> {
    let found = copilot::roles(&config.models).await?;
    let store = Arc::new(installation.store.clone());
    Ok(Researcher::new(ResearchParts {
        library: Arc::new(installation.knowledge.clone()),
        journals: Arc::clone(&store) as Arc<dyn agent::ports::Journals>,
        ledger: store,
        model: found.roles.answer,
        prices: copilot::prices(&config.models.prices)?,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        tasks: installation.tasks().clone(),
    }))
}
