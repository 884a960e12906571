//! The one way a message takes from request to acceptance (conformance 15). Every send, from
//! the command line or over MCP, comes through [`Pipeline::send`], in this order: ids, checks,
//! sender, target, guards, visible body, ledger, worker. Each step is recorded with its reason.

use crate::body::{self, RelayHeader};
use crate::edge::Target;
use crate::guard;
use crate::kept::kept;
use crate::ledger::{LedgerError, Message, NewMessage};
use crate::pipeline::Pipeline;
use crate::rejection::{Rejection, Why};
use crate::reply;
use crate::request::{Accepted, SendRequest};
use crate::resolve::{ResolvedTarget, Resolver, SenderClaim};
use crate::sender::{Hop, OPERATOR, Sender, SenderKind, operator_key};
use axiowl_model::{MessageId, RunId, SessionKey, Stage};
use serde_json::json;
use std::time::{Duration, Instant};

/// How long a session that answers waits for our look into its transcript: many times what a
/// worker lets pass between two.
const LOOK: Duration = Duration::from_secs(2);
/// How often the ledger is asked meanwhile.
const GLANCE: Duration = Duration::from_millis(25);

/// What a message is an answer to or a consequence of.
struct Causes {
    /// The message named by `reply_to`.
    original: Option<Message>,
    /// The message that the provider itself says started the proven sender's turn.
    carried: Option<Message>,
    /// The message whose turn the proven sender seems to be in.
    turn: Option<Message>,
    /// The message whose header the body begins with.
    relayed: Option<Message>,
}

impl Pipeline {
    /// Takes a message: resolves everybody, stores it durably and starts its delivery.
    ///
    /// # Errors
    /// A [`Rejection`]; nothing is stored or sent then.
    pub fn send(&self, request: &SendRequest) -> Result<Accepted, Rejection> {
        let (message_id, run_id) = (MessageId::new(), RunId::new());
        self.log().record(
            "request",
            json!({
                "message_id": message_id,
                "run_id": run_id,
                "to": clipped(&request.to),
                "from": request.from.word(),
                "body_bytes": request.body.len(),
                "reply_to": request.reply_to,
                "node": request.node,
                "strict": request.strict,
                "dry_run": request.dry_run,
            }),
        );
        self.take(message_id, run_id, request).map_err(|why| {
            let why = Box::new(why);
            let rejection = Rejection {
                message_id,
                run_id,
                why,
            };
            self.log().record(
                "rejected",
                json!({
                    "message_id": message_id,
                    "run_id": run_id,
                    "code": rejection.code(),
                    "reason": rejection.to_string(),
                }),
            );
            rejection
        })
    }

    /// The turn that a session works on for a message of ours. A session may answer before its
    /// worker has looked into its transcript again; that look is waited for, so that the answer
    /// is known as one.
    fn turn_of(&self, key: &SessionKey) -> Result<Option<Message>, LedgerError> {
        let until = Instant::now() + LOOK;
        while self.ledger().is_handed_to(key)? && Instant::now() < until {
            // Another process writes it; the ledger is the only place to learn it from.
            std::thread::sleep(GLANCE);
        }
        self.ledger().open_turn_of(key)
    }

    fn take(&self, id: MessageId, run_id: RunId, request: &SendRequest) -> Result<Accepted, Why> {
        request.check()?;
        guard::body(&request.body, self.limits())?;
        let original = match request.reply_to {
            Some(original) => Some(self.original(original)?),
            None => None,
        };
        self.note(id, "validated", json!({}));
        let resolver = Resolver {
            registry: self.registry(),
            log: self.log(),
            pass: self.pass(),
            message: id,
            node: request.node.as_deref(),
            strict: request.strict,
            dry_run: request.dry_run,
            now: self.ledger().now(),
        };
        let relayed = self.relayed(id, &request.body)?;
        let (sender, sender_also) = match (&request.from, &relayed) {
            // Nobody else was named, so it is whom the text itself names (C199).
            (SenderClaim::Operator, Some(relayed)) => (claimed(&relayed.sender), Vec::new()),
            (claim, _) => resolver.sender(claim)?,
        };
        let carried = self.carried(id, &request.from, &sender)?;
        let turn = match &sender.key {
            Some(key) if sender.kind == SenderKind::Proven && carried.is_none() => {
                self.turn_of(key)?
            }
            _ => None,
        };
        let causes = Causes {
            original,
            carried,
            turn,
            relayed,
        };
        let (target, also_matching, kept) = find_target(&resolver, request, &causes, &sender)?;
        let answers = causes.answers(&target);
        let hops = causes.hops();
        let limits = self.limits();
        let back = causes.goes_back(&target);
        guard::route(self.ledger(), limits, &sender, &target.key, &hops, back)?;
        self.note(id, "guards_passed", json!({"hops": hops.len()}));
        let visible_body = body::visible(id, &sender, &hops, &request.body);
        self.note(id, "body_built", json!({"bytes": visible_body.len()}));
        let new = NewMessage {
            id,
            run_id,
            sender,
            target,
            body: request.body.clone(),
            visible_body,
            reply_to: answers,
            hops,
            also_matching,
            kept,
            expires_in: request.timeout.unwrap_or(limits.expiry),
        };
        let accepted = if request.dry_run {
            Ok(Accepted::preview(new, self.ledger().now()))
        } else {
            self.accept(new)
        };
        accepted.map(|accepted| Accepted {
            sender_also,
            ..accepted
        })
    }

    fn accept(&self, new: NewMessage) -> Result<Accepted, Why> {
        let taken = self.ledger().accept(&new, self.limits())??;
        let id = new.id;
        self.note(
            id,
            "accepted",
            json!({
                "stage": Stage::Accepted,
                "agent_id": new.target.key.to_string(),
                "display_name": new.target.display_name,
                "evidence": taken.line.evidence,
            }),
        );
        let replied = match (new.reply_to, taken.answered) {
            (Some(original), Some(Ok(line))) => {
                self.note(id, "reply_recorded", json!({"reply_to": original}));
                Some(line)
            }
            (Some(original), Some(Err(reason))) => {
                let fields = json!({"reply_to": original, "reason": reason});
                self.note(id, "reply_not_counted", fields);
                None
            }
            _ => None,
        };
        let worker_problem = if new.target.key == operator_key() {
            None
        } else if let Some(line) = &taken.kept {
            self.note(
                id,
                "answer_kept",
                json!({"stage": line.stage, "reason": line.reason}),
            );
            None
        } else {
            self.have_served(id, &new.target.key)
        };
        self.care_for_others(&new.target.key);
        Ok(Accepted {
            line: taken.line,
            sender: new.sender,
            target: new.target,
            also_matching: new.also_matching,
            sender_also: Vec::new(),
            visible_body: new.visible_body,
            answers: new.reply_to,
            replied,
            kept: taken.kept,
            worker_problem,
            dry_run: false,
        })
    }

    fn original(&self, id: MessageId) -> Result<Message, Why> {
        self.ledger().message(id).map_err(|error| match error {
            crate::ledger::LedgerError::NoSuchMessage { .. } => Why::Usage {
                problem: format!("reply_to names no message that is known here: {id}"),
                hint: "give the id that stands in the first line of the message".into(),
            },
            error => error.into(),
        })
    }

    /// The message whose header a body begins with. A header that nothing stands behind is
    /// refused: its reader would take it for AxiOwl's word (C168).
    fn relayed(&self, id: MessageId, text: &str) -> Result<Option<Message>, Why> {
        let unresolved = |problem: String| Err(Why::RelayUnresolved { problem });
        let header = match RelayHeader::read(text) {
            None => return Ok(None),
            Some(Err(malformed)) => return unresolved(malformed.to_string()),
            Some(Ok(header)) => header,
        };
        let message = match self.ledger().message(header.message) {
            Ok(message) => message,
            Err(crate::ledger::LedgerError::NoSuchMessage { id }) => {
                return unresolved(format!("no message {id} is known"));
            }
            Err(error) => return Err(error.into()),
        };
        if !header.shows(&message.sender) {
            return unresolved(format!("message {} has another sender", header.message));
        }
        self.note(
            id,
            "relay",
            json!({"relayed": header.message, "sender": message.sender.name}),
        );
        Ok(Some(message))
    }

    /// The message whose id the provider carries through the turn it started. It counts only for
    /// the session it was for.
    fn carried(
        &self,
        id: MessageId,
        from: &SenderClaim,
        sender: &Sender,
    ) -> Result<Option<Message>, Why> {
        let SenderClaim::Proven(proven) = from else {
            return Ok(None);
        };
        let Some(carried) = proven.turn_message else {
            return Ok(None);
        };
        let message = match self.ledger().message(carried) {
            Ok(message) => message,
            Err(crate::ledger::LedgerError::NoSuchMessage { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let fits = sender.key.as_ref() == Some(&message.target.key);
        self.note(
            id,
            "turn_carried",
            json!({"message": carried, "fits": fits}),
        );
        Ok(fits.then_some(message))
    }

    fn note(&self, id: MessageId, event: &str, mut fields: serde_json::Value) {
        fields["message_id"] = id.to_string().into();
        self.log().record(event, fields);
    }
}

impl Causes {
    /// The message that the new one answers: the one named, or else the one whose turn the
    /// sender is in, when it has been read and the answer goes to where it came from.
    fn answers(&self, target: &Target) -> Option<MessageId> {
        if let Some(original) = &self.original {
            return Some(original.id);
        }
        let read = self.turn.as_ref().filter(|turn| turn.stage == Stage::Seen);
        let turn = self.carried.as_ref().or(read);
        turn.filter(|turn| reply::goes_back(turn, &target.key))
            .map(|turn| turn.id)
    }

    fn goes_back(&self, target: &Target) -> bool {
        self.questions()
            .any(|cause| reply::goes_back(cause, &target.key))
    }

    /// What the new one may be an answer to.
    fn questions(&self) -> impl Iterator<Item = &Message> {
        let questions = [&self.original, &self.carried, &self.turn];
        questions.into_iter().flatten()
    }

    /// The longest way that leads here, so that an old `reply_to` cannot shorten it.
    fn hops(&self) -> Vec<Hop> {
        let causes = [&self.original, &self.carried, &self.turn, &self.relayed];
        let ways = causes.into_iter().map(|cause| guard::hops(cause.as_ref()));
        ways.max_by_key(Vec::len).unwrap_or_default()
    }
}

/// The target, other rows that its name fitted, and why it can only be kept for the target.
fn find_target(
    resolver: &Resolver<'_>,
    request: &SendRequest,
    causes: &Causes,
    sender: &Sender,
) -> Result<(Target, Vec<String>, Option<String>), Why> {
    let text = request.to.trim();
    let back = causes.original.as_ref().map(|original| &original.sender);
    let operator_asked = causes
        .questions()
        .any(|cause| cause.sender.kind == SenderKind::Operator);
    // The name in a header stands for that sender, whoever else is called so.
    let address = back.filter(|sender| text.is_empty() || sender.is_called(text));
    let text = match address.map(Sender::return_address) {
        Some(Some(key)) if key == operator_key() => OPERATOR.to_owned(),
        Some(Some(key)) => key.to_string(),
        Some(None) if text.is_empty() => {
            return Err(Why::Usage {
                problem: "the sender of that message is a name without a session".into(),
                hint: "name a target".into(),
            });
        }
        _ => text.to_owned(),
    };
    if text == OPERATOR {
        if !operator_asked {
            return Err(Why::OperatorNotAsked);
        }
        let inbox = Target {
            key: operator_key(),
            display_name: OPERATOR.into(),
            cwd: String::new(),
            home: String::new(),
        };
        return Ok((inbox, Vec::new(), None));
    }
    let ResolvedTarget { row, also } = match resolver.target(&text) {
        Ok(found) => found,
        Err(why) => {
            let kept = kept(&why, &text, sender, causes.questions()).ok_or(why)?;
            return Ok((kept.target, Vec::new(), Some(kept.reason)));
        }
    };
    let target = Target {
        key: row.key,
        display_name: row.display_name,
        cwd: row.cwd,
        home: row.home,
    };
    Ok((target, also, None))
}

fn claimed(sender: &Sender) -> Sender {
    Sender {
        kind: match sender.kind {
            SenderKind::Operator => SenderKind::Operator,
            SenderKind::Claimed | SenderKind::Proven => SenderKind::Claimed,
        },
        reason: "relayed header".into(),
        ..sender.clone()
    }
}

fn clipped(text: &str) -> String {
    axiowl_model::clip(text, 200)
}
