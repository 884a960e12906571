//! Which edge delivers. The provider key of the target alone decides; there is no fallback.

use crate::edge::{Edge, Target};
use axiowl_model::LOCAL_NODE;
use std::collections::BTreeMap;

/// The provider key reserved for sessions behind another node.
const REMOTE: &str = "remote";

/// The edges of this build by provider key.
pub struct EdgeTable {
    edges: BTreeMap<&'static str, Box<dyn Edge>>,
    node: String,
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
    /// A table of edges for the node `local`. Of two edges with one provider key the later
    /// stays.
    pub fn new(edges: impl IntoIterator<Item = Box<dyn Edge>>) -> Self {
        Self {
            edges: edges
                .into_iter()
                .map(|edge| (edge.provider(), edge))
                .collect(),
            node: LOCAL_NODE.into(),
        }
    }

    /// Names this node otherwise.
    pub fn on_node(mut self, node: impl Into<String>) -> Self {
        self.node = node.into();
        self
    }

    /// The provider keys that can be delivered to.
    pub fn providers(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.edges.keys().copied()
    }

    /// The edge of a target.
    ///
    /// # Errors
    /// When there is none, with the reason.
    pub fn pick(&self, target: &Target) -> Result<&dyn Edge, NoEdge> {
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
            Some(edge) => Ok(edge.as_ref()),
            None => Err(NoEdge::UnknownProvider {
                provider: key.provider.clone(),
            }),
        }
    }
}
