//! `iostall fleet code`, `join`, `servers` and `revoke`.

use anyhow::{Context as _, anyhow};
use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_report::fleet_servers::{Refused, ServerEntry, fleet_servers};
use iostall_store::{FleetSecret, History as _, KnownServer, MemberState};
use iostall_watch::centre::{JoinCentre, join_centre};
use iostall_watch::open_repository;

use crate::cli::{FleetCodeArgs, FleetJoinArgs, FleetRevokeArgs, FleetServersArgs, GlobalArgs};
use crate::failure::{Status, hinted};
use crate::printer::Printer;
use crate::store::{open_watch, path};

pub(super) fn code(args: &FleetCodeArgs, printer: &Printer) -> anyhow::Result<Status> {
    let repository = open_repository(&args.url, &Printer::ask_password)?;
    let code = FleetSecret::new_code().context("the system has no random numbers")?;
    repository
        .add_join_code(&code.hash(), args.server_name.as_deref(), args.valid)
        .map_err(iostall_store::StoreError::from)?;
    printer.note("on the server, `iostall fleet join --code-file` takes this once; it is not shown again:");
    printer.result(&format!("{}\n", code.digits()))?;
    Ok(Status::Done)
}

pub(super) fn join(args: &FleetJoinArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut store = open_watch(global)?;
    let request = JoinCentre {
        store: &path(global)?,
        id: store.id(),
        address: &args.url,
        code_file: &args.code_file,
        certificate: args.certificate.as_deref(),
    };
    let name = join_centre(&request, &mut store)?;
    printer.result(&format!("joined {} as {}\n", shown(&args.url), shown(&name)))?;
    Ok(Status::Done)
}

pub(super) fn servers(args: &FleetServersArgs, printer: &Printer) -> anyhow::Result<Status> {
    let repository = open_repository(&args.url, &Printer::ask_password)?;
    let known = repository.servers().map_err(iostall_store::StoreError::from)?;
    let servers: Vec<ServerEntry> = known.iter().map(entry).collect();
    let text = if args.json {
        serde_json::to_string_pretty(&servers)? + "\n"
    } else {
        fleet_servers(&servers, utc_now())
    };
    printer.result(&text)?;
    Ok(Status::Done)
}

fn entry(server: &KnownServer) -> ServerEntry {
    let membership = server.membership.as_ref();
    let other = if server.store.is_of_pulled() { "pulled" } else { "former" };
    ServerEntry {
        id: server.store.to_string(),
        name: membership.map(|membership| membership.name.clone()).or_else(|| server.host.clone()),
        state: membership.map_or(other, |membership| membership.state.name()),
        state_since_utc: membership.map(|membership| membership.state_since),
        joined_utc: membership.map(|membership| membership.joined),
        key_made_utc: membership.map(|membership| membership.key_made),
        host: membership.map_or_else(|| server.host.clone(), |membership| membership.host.clone()),
        version: membership.map_or_else(|| server.version.clone(), |membership| membership.version.clone()),
        last_contact_utc: membership.map_or(server.last_contact, |membership| membership.last_contact),
        clock_ahead_ms: membership.map_or(server.clock_ahead_ms, |membership| membership.clock_ahead_ms),
        sources: server.sources,
        newest_sample_utc: server.newest_sample,
        refused: membership
            .and_then(|membership| membership.refused.clone())
            .map(|(at, reason)| Refused { at, reason }),
        lag_s: server.newest_sample.map(|newest| utc_now().duration_since(newest).as_secs()),
    }
}

pub(super) fn revoke(args: &FleetRevokeArgs, printer: &Printer) -> anyhow::Result<Status> {
    let repository = open_repository(&args.url, &Printer::ask_password)?;
    let listing = "`iostall fleet servers` lists them";
    let mut found = repository.members_called(&args.server).map_err(iostall_store::StoreError::from)?;
    let Some(member) = found.pop() else {
        return Err(hinted(anyhow!("no server called {:?} has joined", args.server), listing));
    };
    if !found.is_empty() {
        let text = anyhow!("several servers are called {:?}", args.server);
        return Err(hinted(text, format!("write the id of one's store: {listing}")));
    }
    let name = shown(&member.name);
    if member.state == MemberState::Revoked {
        printer.result(&format!("{name} was revoked already\n"))?;
        return Ok(Status::Done);
    }
    repository.revoke(&member).map_err(iostall_store::StoreError::from)?;
    printer.result(&format!("revoked {name}: its history stays, and it sends no more\n"))?;
    Ok(Status::Done)
}
