//! The rows of the matrix: what may be true of a session when a message is sent to it.
//!
//! Data only; how a client is brought there is the business of `cell.rs` and the drivers.

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Situation {
    Idle,
    LiveUntouched,
    LiveIdle,
    LiveBusy,
    WindowClosed,
    ProcessKilled,
    Renamed,
    Cleared,
    TwoOfOneName,
    ModeThatHolds,
    UnknownId,
    FolderDeleted,
    NoAuth,
    ModelError(u16),
    SlowModel,
    BrokenOff,
    HostileBody,
}

impl Situation {
    /// Every row, in the order of the table.
    pub const ALL: [Self; 19] = [
        Self::Idle,
        Self::LiveUntouched,
        Self::LiveIdle,
        Self::LiveBusy,
        Self::WindowClosed,
        Self::ProcessKilled,
        Self::Renamed,
        Self::Cleared,
        Self::TwoOfOneName,
        Self::ModeThatHolds,
        Self::UnknownId,
        Self::FolderDeleted,
        Self::NoAuth,
        Self::ModelError(401),
        Self::ModelError(429),
        Self::ModelError(500),
        Self::SlowModel,
        Self::BrokenOff,
        Self::HostileBody,
    ];

    /// The row's name.
    pub fn name(self) -> String {
        match self {
            Self::Idle => "idle".into(),
            Self::LiveUntouched => "live, opened and untouched".into(),
            Self::LiveIdle => "live, idle".into(),
            Self::LiveBusy => "live, busy".into(),
            Self::WindowClosed => "window closed".into(),
            Self::ProcessKilled => "process killed".into(),
            Self::Renamed => "renamed".into(),
            Self::Cleared => "after `/clear` or `/new`".into(),
            Self::TwoOfOneName => "two sessions of one name".into(),
            Self::ModeThatHolds => "permission mode that holds".into(),
            Self::UnknownId => "unknown id".into(),
            Self::FolderDeleted => "folder deleted".into(),
            Self::NoAuth => "no auth".into(),
            Self::ModelError(code) => format!("model error {code}"),
            Self::SlowModel => "slow model".into(),
            Self::BrokenOff => "broken off by its user".into(),
            Self::HostileBody => "hostile body".into(),
        }
    }

    /// The model cannot answer, so that a client may ask it more than once for one turn.
    pub fn fails_the_model(self) -> bool {
        matches!(self, Self::ModelError(_) | Self::NoAuth)
    }
}
