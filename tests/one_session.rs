//! A worker reads one session of a store that has thousands: what it finds of it must be what
//! a whole run finds.

use axiowl_discover::{Options, discover, row_of};
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::world_spec::WorldSpec;
use axiowl_sources::World;
use std::path::Path;

#[test]
fn a_session_alone_is_what_it_is_among_all_the_others() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let sources = Sources {
        disk: Some(&rules),
        ..Sources::default()
    };
    let set = layers::load_all(&sources);
    let mut compared = 0;
    for loaded in set.iter() {
        let provider = loaded.rule.provider.value.as_str();
        let cases = std::fs::read_dir(rules.join(provider).join("fixtures"));
        for case in cases.into_iter().flatten().flatten() {
            let Ok(world) = std::fs::read_to_string(case.path().join("world.yaml")) else {
                continue;
            };
            let spec = WorldSpec::parse("world.yaml", &world).expect("world");
            let world =
                World::fixture(&case.path(), &spec).with_native(axiowl_providers::native_facts());
            let options = Options::default();
            let all = discover(loaded, &world, &options);
            for agent in &all.agents {
                let session = &agent.key.session;
                let alone = row_of(loaded, &world, session, &options);
                let alone = alone.unwrap_or_else(|| panic!("{provider}: no {session}"));
                assert_eq!(alone.agent, *agent, "{provider} {}", case.path().display());
                compared += 1;
            }
            assert!(row_of(loaded, &world, "no-such-session", &options).is_none());
        }
    }
    assert!(compared > 60, "only {compared}");
}
