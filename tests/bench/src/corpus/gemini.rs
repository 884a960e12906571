//! Gemini CLI: a file a session below the project's folder, and the registry of projects.

use super::{Lines, PROJECTS, Plan, length, moment, rfc3339, text, uuid, words};
use crate::Failure;
use serde_json::{Map, json};
use std::path::Path;

pub fn write(at: &Path, home: &Path, plan: &Plan) -> Result<(), Failure> {
    let mut rng = plan.rng(5);
    let root = at.join(".gemini");
    let mut projects = Map::new();
    for number in 0..PROJECTS {
        let cwd = home
            .join(format!("projects/p{number}"))
            .display()
            .to_string();
        let slug = format!("p{number}");
        std::fs::create_dir_all(root.join("tmp").join(&slug))?;
        std::fs::write(root.join("tmp").join(&slug).join(".project_root"), &cwd)?;
        projects.insert(cwd, slug.into());
    }
    let registry = json!({"projects": projects});
    std::fs::write(root.join("projects.json"), registry.to_string())?;
    let settings = json!({"general": {"sessionRetention": {"enabled": false}}});
    std::fs::write(root.join("settings.json"), settings.to_string())?;
    for _ in 0..plan.gemini {
        let id = uuid(&mut rng);
        let stamp = rfc3339(moment(&mut rng))?;
        let file = format!(
            "session-{}-{}.jsonl",
            stamp[..16].replace(':', "-"),
            &id[..8]
        );
        let slug = format!("p{}", rng.usize(..PROJECTS));
        let mut out = Lines::create(&root.join("tmp").join(slug).join("chats").join(file))?;
        out.push(
            &json!({"sessionId": id, "projectHash": format!("{:064x}", rng.u128(..)),
            "startTime": stamp, "lastUpdated": stamp, "kind": "main"}),
        )?;
        let prompt = words(&mut rng, 8);
        out.push(
            &json!({"id": uuid(&mut rng), "timestamp": stamp, "type": "user",
            "content": [{"text": prompt}]}),
        )?;
        let bytes = length(&mut rng, plan.bytes / 4);
        while out.written < bytes {
            let size = rng.usize(200..3_000);
            out.push(
                &json!({"id": uuid(&mut rng), "timestamp": stamp, "type": "gemini",
                "content": text(&mut rng, size)}),
            )?;
        }
        out.push(&json!({"$set": {"lastUpdated": stamp, "summary": words(&mut rng, 4)}}))?;
        out.finish()?;
    }
    Ok(())
}
