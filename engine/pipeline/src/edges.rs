//! Which edge delivers. The provider key of the target alone decides; there is no fallback.
//!
//! An edge leaves the table only together with the target it was picked for
//! ([`TargetEdge`]), and the pipeline calls edges in no other way: what was picked for one
//! session cannot be used for another, let alone for another surface.

use crate::edge::{
    Delivery, Edge, EdgeContext, EdgeError, Finding, Liveness, Progress, Target, TranscriptLook,
};
use axiowl_model::{LOCAL_NODE, MessageId, RunId};
use std::collections::BTreeMap;
use std::time::Instant;

/// The provider key reserved for sessions behind another node.
const REMOTE: &str = "remote";

/// The edges of this build by provider key.
pub struct EdgeTable {
    edges: BTreeMap<&'static str, Box<dyn Edge>>,
    node: String,
}

/// Two edges claim one provider, and nobody can say which would deliver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two delivery edges serve the provider `{provider}`")]
pub struct TwoEdges {
    /// Its key.
    pub provider: &'static str,
}

/// No edge may deliver to a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoEdge {
    /// The provider key is reserved for other nodes.
    #[error("remote delivery is out of scope in this build")]
    Remote,
    /// The session lives on another node; the same id here would be another session.
    #[error(
        "the session lives on node `{node}`, and only sessions of this one can be delivered to"
    )]
    OtherNode {
        /// That node.
        node: String,
    },
    /// No edge serves the provider.
    #[error("no delivery edge serves the provider `{provider}`")]
    UnknownProvider {
        /// Its key.
        provider: String,
    },
}

impl EdgeTable {
    /// A table of edges for the node `local`.
    ///
    /// # Errors
    /// When two of them have one provider key.
    pub fn new(edges: impl IntoIterator<Item = Box<dyn Edge>>) -> Result<Self, TwoEdges> {
        let mut table = BTreeMap::new();
        for edge in edges {
            let provider = edge.provider();
            if table.insert(provider, edge).is_some() {
                return Err(TwoEdges { provider });
            }
        }
        Ok(Self {
            edges: table,
            node: LOCAL_NODE.into(),
        })
    }

    /// Names this node otherwise.
    pub fn on_node(mut self, node: impl Into<String>) -> Self {
        self.node = node.into();
        self
    }

    /// Whether a provider key means something here: it has an edge, or is reserved.
    pub fn knows(&self, provider: &str) -> bool {
        provider == REMOTE || self.edges.contains_key(provider)
    }

    /// The provider keys that can be delivered to.
    pub fn providers(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.edges.keys().copied()
    }

    /// The edge of a target.
    ///
    /// # Errors
    /// When there is none, with the reason.
    pub fn pick<'a>(&'a self, target: &'a Target) -> Result<TargetEdge<'a>, NoEdge> {
        let key = &target.key;
        if key.provider == REMOTE {
            return Err(NoEdge::Remote);
        }
        if key.node != self.node {
            return Err(NoEdge::OtherNode {
                node: key.node.clone(),
            });
        }
        match self.edges.get(key.provider.as_str()) {
            Some(edge) => Ok(TargetEdge {
                edge: edge.as_ref(),
                target,
            }),
            None => Err(NoEdge::UnknownProvider {
                provider: key.provider.clone(),
            }),
        }
    }
}

/// The edge of one target, and no other's.
#[derive(Clone, Copy)]
pub struct TargetEdge<'a> {
    edge: &'a dyn Edge,
    target: &'a Target,
}

/// One message as an edge is given it, apart from the target.
pub(crate) struct Letter<'a> {
    pub message_id: MessageId,
    pub run_id: RunId,
    pub visible_body: &'a str,
    pub deadline: Instant,
    pub output_cap: usize,
    pub transcript: &'a dyn TranscriptLook,
}

impl<'a> TargetEdge<'a> {
    /// The provider it serves, which is the target's.
    pub fn provider(&self) -> &'static str {
        self.edge.provider()
    }

    /// Whether its target is idle, open with a door, or open without one. Reads only.
    pub fn probe(&self, context: &EdgeContext<'_>) -> Liveness {
        self.edge.probe(context, self.target)
    }

    /// Addresses a message to its target.
    pub(crate) fn addressed<'b>(self, letter: &Letter<'b>) -> Addressed<'b>
    where
        'a: 'b,
    {
        Addressed {
            edge: self.edge,
            delivery: Delivery {
                message_id: letter.message_id,
                run_id: letter.run_id,
                target: self.target,
                visible_body: letter.visible_body,
                deadline: letter.deadline,
                output_cap: letter.output_cap,
                transcript: letter.transcript,
            },
        }
    }
}

/// A message, its target and its target's edge.
pub(crate) struct Addressed<'a> {
    edge: &'a dyn Edge,
    delivery: Delivery<'a>,
}

impl<'a> Addressed<'a> {
    pub fn delivery(&self) -> &Delivery<'a> {
        &self.delivery
    }

    pub fn probe(&self, context: &EdgeContext<'_>) -> Liveness {
        self.edge.probe(context, self.delivery.target)
    }

    #[expect(clippy::result_large_err, reason = "see `Edge::submit`")]
    pub fn submit(
        &self,
        context: &EdgeContext<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        self.edge.submit(context, &self.delivery, progress)
    }

    pub fn find(&self, context: &EdgeContext<'_>) -> Finding {
        self.edge.find(context, &self.delivery)
    }

    pub fn is_under_way(&self, context: &EdgeContext<'_>) -> bool {
        self.edge.is_under_way(context, &self.delivery)
    }

    pub fn settle(&self, context: &EdgeContext<'_>) -> Option<Finding> {
        self.edge.settle(context, &self.delivery)
    }
}
