//! The selection of claims: all, or those that `--only` names.

use std::collections::BTreeSet;

use super::claim::Claim;
use super::paper::Paper;
use crate::error::Error;

/// A paper with the selected claims.
pub(super) struct Selected {
    pub(super) paper: &'static Paper,
    pub(super) claims: Vec<Claim>,
    /// True if all claims are selected, and with them the studies that no claim uses.
    pub(super) all: bool,
}

impl Selected {
    /// Returns true if the study `id` has to run.
    pub(super) fn needs(&self, id: &str) -> bool {
        self.all || self.claims.iter().any(|claim| claim.figures().iter().any(|(study, _)| *study == id))
    }
}

/// Returns the claims of `papers` that `only` names: by id, by the beginning of ids, or with `*` for any text; after
/// `PAPER/` of that paper only. Papers without selected claims are left out. All claims if it is empty.
pub(super) fn select(papers: &[&'static Paper], only: &[String]) -> Result<Vec<Selected>, Error> {
    let mut found: Vec<(Selected, BTreeSet<usize>)> = papers
        .iter()
        .map(|&paper| (Selected { paper, claims: paper.claims(), all: only.is_empty() }, BTreeSet::new()))
        .collect();
    for wanted in only {
        let before = wanted.split_once('/').map(|(paper, _)| paper);
        let pattern = wanted.split_once('/').map_or(&wanted[..], |(_, pattern)| pattern);
        let of_paper = |paper: &Paper| before.is_none_or(|name| name == paper.name);
        let ids = |matches: &dyn Fn(&str) -> bool| -> Vec<(usize, usize)> {
            let papers = found.iter().enumerate().filter(|(_, (selected, _))| of_paper(selected.paper));
            papers
                .flat_map(|(p, (selected, _))| selected.claims.iter().enumerate().map(move |(c, claim)| (p, c, claim)))
                .filter(|(.., claim)| matches(&claim.id))
                .map(|(p, c, _)| (p, c))
                .collect()
        };
        let mut matching = ids(&|id| id == pattern);
        if matching.is_empty() && !pattern.is_empty() {
            matching = ids(&|id| if pattern.contains('*') { glob(pattern, id) } else { id.starts_with(pattern) });
        }
        if matching.is_empty() {
            return Err(unknown(wanted, papers));
        }
        for (p, c) in matching {
            found[p].1.insert(c);
        }
    }
    if only.is_empty() {
        return Ok(found.into_iter().map(|(selected, _)| selected).collect());
    }
    let some = found.into_iter().filter(|(_, wanted)| !wanted.is_empty()).map(|(mut selected, wanted)| {
        let claims = std::mem::take(&mut selected.claims).into_iter().enumerate();
        selected.claims = claims.filter(|(i, _)| wanted.contains(i)).map(|(_, claim)| claim).collect();
        selected
    });
    Ok(some.collect())
}

/// Returns true if `text` matches `pattern`, in which `*` matches any text.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(left) = text.strip_prefix(first) else { return false };
    // All ends of the star are tried from the left; patterns are short.
    (0..=left.len()).any(|end| left.is_char_boundary(end) && glob(rest, &left[end..]))
}

/// Returns the error for a `wanted` that matches no claim, with a suggestion.
fn unknown(wanted: &str, papers: &[&'static Paper]) -> Error {
    let known: Vec<(String, String)> = papers
        .iter()
        .flat_map(|paper| paper.claims().into_iter().map(|claim| (format!("{}/{}", paper.name, claim.id), claim.id)))
        .collect();
    let distance = |(full, id): &&(String, String)| {
        strsim::damerau_levenshtein(wanted, id).min(strsim::damerau_levenshtein(wanted, full))
    };
    let nearest = known.iter().min_by_key(distance).map_or_else(String::new, |near| match distance(&near) {
        d if d <= wanted.chars().count() / 2 => format!("; did you mean {}?", near.0),
        _ => {
            let first: Vec<&str> = known.iter().take(3).map(|(full, _)| &full[..]).collect();
            format!("; there are {}, such as {}", known.len(), first.join(", "))
        }
    });
    let names: Vec<&str> = papers.iter().map(|paper| paper.name).collect();
    let papers = names.join(", ");
    Error::Option(format!("no claim of {papers} is called {wanted:?} or begins with it{nearest}"))
}

#[cfg(test)]
mod tests {
    use super::super::paper::papers;
    use super::*;

    fn ids(only: &[&str]) -> Vec<String> {
        let only: Vec<String> = only.iter().map(|&o| o.to_owned()).collect();
        let all: Vec<&'static Paper> = papers().iter().collect();
        let selected = select(&all, &only).unwrap();
        let of = |s: &Selected| s.claims.iter().map(|c| format!("{}/{}", s.paper.name, c.id)).collect::<Vec<_>>();
        selected.iter().flat_map(of).collect()
    }

    #[test]
    fn claims_are_named_by_id_beginning_or_pattern() {
        assert_eq!(ids(&["fig2-ftp-saturates"]), ["cellsim/fig2-ftp-saturates"]);
        assert_eq!(ids(&["cellsim/fig2-telnet-idle"]), ["cellsim/fig2-telnet-idle"]);
        let some = ids(&["fig2-nntp"]);
        assert_eq!(some, ["cellsim/fig2-nntp-below-ftp", "cellsim/fig2-nntp-above-telnet"]);
        assert_eq!(ids(&["fig2-*-above-telnet"]), ["cellsim/fig2-nntp-above-telnet", "cellsim/fig2-smtp-above-telnet"]);
        // An id that is also the beginning of others selects itself only; a claim named twice is selected once, in the
        // paper's order.
        assert_eq!(ids(&["fig9-collapse-per-type"]), ["cellsim/fig9-collapse-per-type"]);
        let twice = ids(&["sec6-saturates", "fig2-telnet", "fig2-telnet-idle"]);
        assert_eq!(twice, ["cellsim/fig2-telnet-idle", "cellsim/sec6-saturates"]);
        assert!(ids(&["cellsim/*"]).len() >= 30);
    }

    #[test]
    fn only_the_studies_of_wanted_claims_run() {
        let cellsim = Paper::find("cellsim").unwrap();
        let needed = |only: &[&str]| -> Vec<String> {
            let only: Vec<String> = only.iter().map(|&o| o.to_owned()).collect();
            let selected = select(&[cellsim], &only).unwrap();
            let studies = cellsim.studies().study.into_iter().map(|study| study.id);
            studies.filter(|id| selected[0].needs(id)).collect()
        };
        assert_eq!(needed(&["fig2-smtp"]), ["load"]);
        assert_eq!(needed(&["sec7-gap-per-type"]), ["policies", "corrected"], "the other point's study too");
        assert_eq!(needed(&[]).len(), cellsim.studies().study.len());
    }

    #[test]
    fn an_unknown_claim_is_reported_with_the_nearest() {
        let message = |papers: &[&'static Paper], only: &str| match select(papers, &[only.to_owned()]) {
            Ok(_) => panic!("{only} was found"),
            Err(error) => {
                assert!(error.is_input());
                error.to_string()
            }
        };
        let all: Vec<&'static Paper> = papers().iter().collect();
        let slip = message(&all, "fig2-ftp-saturate5");
        assert!(slip.ends_with("did you mean cellsim/fig2-ftp-saturates?"), "{slip}");
        assert!(message(&all, "celsim/fig2-telnet-idle").ends_with("did you mean cellsim/fig2-telnet-idle?"));
        assert!(!message(&all, "xyz").contains("did you mean"), "nothing is near");
        assert!(message(&all, "").contains("\"\""));
        assert!(message(&[], "fig2").contains("no claim"));
    }
}
