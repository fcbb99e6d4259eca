//! Follows what happens from before a client hears that its stream stands: the protocol's library tells it so first, and
//! what happened between that and the handler's first look would be told to nobody.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use ::http::request::Parts;
use agent::names::TenantId;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, Extensions, ProtocolVersion, ServerConfig,
    ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, Service};

use crate::mcp::handler::Handler;
use crate::mcp::listening::Sources;
use crate::mcp::offer::Offer;

/// The method of requests to listen.
pub(super) const LISTEN: &str = "subscriptions/listen";

/// What a request to listen brings along: all that is to be told from then on.
#[derive(Clone)]
pub(super) struct Early(Arc<Mutex<Sources>>);

impl Early {
    pub(super) async fn open(offers: &[Arc<dyn Offer>], tenant: &TenantId) -> Self {
        Self(Arc::new(Mutex::new(Sources::open(offers, tenant).await)))
    }

    /// What a request has brought along; nothing the second time, as a request listens once.
    pub(super) fn take_from(extensions: &Extensions) -> Sources {
        let over_http = || extensions.get::<Parts>().and_then(|parts| parts.extensions.get());
        let early: Option<&Self> = extensions.get().or_else(over_http);
        early.map(Self::take).unwrap_or_default()
    }

    fn take(&self) -> Sources {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A handler on pipes. Over HTTP, what is brought along comes with the request.
pub(crate) struct Piped(pub(super) Handler);

impl Service<RoleServer> for Piped {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if let ClientRequest::SubscriptionsListenRequest(_) = request {
            let early = self.0.early(&context.extensions).await?;
            context.extensions.insert(early);
        }
        self.0.handle_request(request, context).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}
