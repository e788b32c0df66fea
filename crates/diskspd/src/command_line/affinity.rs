//! `-a`: which processors threads are pinned to.

use crate::profile::CpuAssignment;

/// `0-3`, as accepted by diskspd-for-linux and taskset.
fn is_range(part: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    part.split_once('-').is_some_and(|(first, last)| is_number(first) && is_number(last))
}

/// Parses `[g#,]#[,#…][,g#,#…]`; empty for no value and for a bare `g`, which is the default round robin.
pub(super) fn parse_list(value: &str) -> Result<Vec<CpuAssignment>, &'static str> {
    let mut list = Vec::new();
    if value.is_empty() || value == "g" {
        return Ok(list);
    }
    let mut group = 0_u16;
    let mut group_used = true;
    for part in value.split(',') {
        let whole = part.strip_prefix('g').unwrap_or(part);
        if is_range(whole) {
            return Err("DiskSpd has no ranges of processors: write each of them, such as -a0,1,2,3");
        }
        if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("write processors joined by commas, such as -a0,1,4, each group as g and its number");
        }
        if part.starts_with('g') {
            if !group_used {
                return Err("a group needs at least one processor after it, such as -ag0,0,1");
            }
            group = whole.parse().map_err(|_| "a group is a number from 0 to 65535")?;
            group_used = false;
        } else {
            let processor = whole.parse().map_err(|_| "a processor is a number from 0 to 255")?;
            list.push(CpuAssignment { group, processor });
            group_used = true;
        }
    }
    if group_used { Ok(list) } else { Err("a group needs at least one processor after it, such as -ag0,0,1") }
}
