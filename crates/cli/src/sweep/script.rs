//! Job scripts that run the shards of a sweep on a cluster.

use std::path::Path;

use super::quoted;
use crate::args::System;

/// Returns the script of a job with `shards` parts; `name` is that of the sweep.
pub(super) fn of(system: System, store: &Path, shards: u32, name: &str) -> String {
    let label = label(name);
    let store = std::path::absolute(store).unwrap_or_else(|_| store.to_owned());
    match system {
        System::Slurm => format!(
            "#!/bin/sh\n\
             #SBATCH --job-name={label}\n\
             #SBATCH --array=1-{shards}\n\
             #SBATCH --cpus-per-task=1\n\
             # Each task runs one shard. A task that is begun again goes on where it was.\n\
             exec cellway sweep run {} --shard \"$SLURM_ARRAY_TASK_ID/{shards}\" --threads 1\n",
            quoted(&store)
        ),
        System::Kubernetes => {
            let (volume, folder) = ("store", "/store");
            format!(
                "# The volume claim \"{volume}\" has the content of {store:?}. Put an image with cellway in place of IMAGE.\n\
                 apiVersion: batch/v1\n\
                 kind: Job\n\
                 metadata:\n\
                 \x20 name: {label}\n\
                 spec:\n\
                 \x20 completionMode: Indexed\n\
                 \x20 completions: {shards}\n\
                 \x20 parallelism: {shards}\n\
                 \x20 backoffLimitPerIndex: 5\n\
                 \x20 template:\n\
                 \x20   spec:\n\
                 \x20     restartPolicy: Never\n\
                 \x20     containers:\n\
                 \x20       - name: shard\n\
                 \x20         image: IMAGE\n\
                 \x20         command: [sh, -c]\n\
                 \x20         # Indexes begin at 0, shards at 1.\n\
                 \x20         args: ['exec cellway sweep run {folder} --shard \"$((JOB_COMPLETION_INDEX + 1))/{shards}\" --threads 1']\n\
                 \x20         resources: {{ requests: {{ cpu: \"1\" }} }}\n\
                 \x20         volumeMounts: [{{ name: {volume}, mountPath: {folder} }}]\n\
                 \x20     volumes: [{{ name: {volume}, persistentVolumeClaim: {{ claimName: {volume} }} }}]\n"
            )
        }
    }
}

/// Returns a name that both systems accept: small letters, digits and hyphens, at most 50, with a letter first.
fn label(name: &str) -> String {
    let plain: String =
        name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    format!("cellway-{}", plain.trim_matches('-')).trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_both_systems() {
        assert_eq!(label("A small one, 2"), "cellway-a-small-one--2");
        assert_eq!(label("\u{e9}"), "cellway");
        assert!(label(&"x".repeat(100)).len() <= 50);
    }

    #[test]
    fn a_path_with_a_line_break_stays_in_its_comment() {
        let job = of(System::Kubernetes, Path::new("/a\nb: c"), 2, "small");
        assert!(!job.lines().any(|line| line.starts_with("b: c")), "{job}");
    }

    #[test]
    fn a_path_with_quotes_is_one_word() {
        let script = of(System::Slurm, Path::new("/a b/it's"), 8, "small");
        assert!(script.contains(r"sweep run '/a b/it'\''s' --shard"), "{script}");
        assert!(script.contains("--array=1-8\n") && script.starts_with("#!/bin/sh\n"), "{script}");
    }
}
