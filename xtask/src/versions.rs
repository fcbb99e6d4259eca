//! The oldest versions of others' packages that we are built with, and those that we are never built with.

/// Packages in `Cargo.lock`, tests' and other platforms' included. May only be lowered. Eighteen more than the 450 that
/// were enough before MCP: one is our own, an example; rmcp brings the others (chrono, its streams, and for signing in at servers of tools oauth2, with
/// which come an older rand and thiserror); five are for Windows and Android alone.
const PACKAGES_MAX: usize = 468;

/// Each package's first version without a hole that is known, whether we use it already or not.
const FLOORS: &[Floor] = &[
    floor("ammonia", "4.1.4"),
    floor("anyhow", "1.0.103"),
    floor("aws-lc-sys", "0.39.0"),
    floor("bytes", "1.11.1"),
    floor("h2", "0.4.20"),
    floor("jsonwebtoken", "10.3.0"),
    floor("lopdf", "0.42.0"),
    floor("lru", "0.18.2"),
    floor("quick-xml", "0.41.0"),
    floor("quinn-proto", "0.11.15"),
    floor("rand", "0.9.3"),
    Floor { package: "rand", only: "0.10.", version: "0.10.1" },
    // Mended there as well.
    Floor { package: "rand", only: "0.8.", version: "0.8.6" },
    floor("rmcp", "1.4.0"),
    floor("rustls", "0.23.18"),
    floor("rustls-webpki", "0.103.13"),
    floor("tar", "0.4.45"),
    floor("time", "0.3.47"),
    floor("tokio", "1.44.2"),
    floor("tracing-subscriber", "0.3.20"),
    floor("zip", "2.3.0"),
];

/// Packages that nobody mends any more, or that bring a C library of the system's along; and what stands in for each.
const NEVER: &[(&str, &str)] = &[
    ("async-std", "tokio"),
    ("bincode", "serde_json"),
    ("fxhash", "the standard library's maps"),
    ("native-tls", "rustls"),
    ("openssl", "rustls"),
    ("rustls-pemfile", "rustls's own reader of PEM"),
    ("serde_yml", "JSON or TOML"),
    ("sled", "redb"),
    ("tokio-tar", "tar"),
];

/// The oldest version that may be used, of those that start with `only`, or of all for which nothing more special is said.
struct Floor {
    package: &'static str,
    only: &'static str,
    version: &'static str,
}

const fn floor(package: &'static str, version: &'static str) -> Floor {
    Floor { package, only: "", version }
}

/// One line for each fault of a lock file.
pub(crate) fn faults(lock: &str) -> Vec<String> {
    let packages = packages(lock);
    let count = packages.len();
    let mut faults = Vec::new();
    if !(1..=PACKAGES_MAX).contains(&count) {
        faults.push(format!("Cargo.lock: {count} packages, 1 to {PACKAGES_MAX} allowed"));
    }
    for (package, version) in packages {
        let floors = FLOORS
            .iter()
            .filter(|floor| floor.package == package && version.starts_with(floor.only));
        if let Some(floor) = floors.max_by_key(|floor| floor.only.len())
            && parts(version) < parts(floor.version)
        {
            let least = floor.version;
            faults.push(format!("Cargo.lock: {package} {version}: {least} is the first good one"));
        }
        if let Some((_, instead)) = NEVER.iter().find(|(never, _)| *never == package) {
            faults.push(format!("Cargo.lock: {package}: never; use {instead}"));
        }
    }
    faults
}

/// Name and version of each package.
fn packages(lock: &str) -> Vec<(&str, &str)> {
    let entries = lock.split("[[package]]").skip(1);
    entries.map(|entry| (field(entry, "name"), field(entry, "version"))).collect()
}

fn field<'a>(entry: &'a str, name: &str) -> &'a str {
    let values = entry.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
    values.filter_map(|value| value.strip_suffix('"')).next().unwrap_or_default()
}

/// The numbers of a version, and whether it is a finished one: `1.0.0-rc.1` is older than `1.0.0`.
fn parts(version: &str) -> (Vec<u64>, bool) {
    let version = version.split('+').next().unwrap_or_default();
    let (numbers, draft) = version.split_once('-').unwrap_or((version, ""));
    let numbers = numbers.split('.').map(|number| number.parse().unwrap_or(0)).collect();
    (numbers, draft.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(packages: &[(&str, &str)]) -> String {
        let entry = |(name, version): &(&str, &str)| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [\n \"tokio\",\n]\n\n"
            )
        };
        format!("version = 4\n\n{}", packages.iter().map(entry).collect::<String>())
    }

    #[track_caller]
    fn check(package: &str, version: &str, is_good: bool) {
        let faults = faults(&lock(&[("saem", "0.1.0"), (package, version)]));
        assert_eq!(faults.is_empty(), is_good, "{package} {version}: {faults:?}");
    }

    #[test]
    fn a_package_below_its_floor_is_a_fault() {
        check("h2", "0.4.19", false);
        check("h2", "0.4.20", true);
        check("h2", "0.5.0", true);
        check("h2", "1.0.0", true);
        check("tokio", "1.5.0", false);
        check("tokio", "1.44.2", true);
        check("tokio", "1.44.2-rc.1", false);
        check("tokio", "1.44.2+build", true);
        check("tokio", "nonsense", false);
        check("unheard-of", "0.0.1", true);
    }

    #[test]
    fn a_line_of_versions_may_have_a_floor_of_its_own() {
        check("rand", "0.8.5", false);
        check("rand", "0.8.8", true);
        check("rand", "0.9.2", false);
        check("rand", "0.9.3", true);
        check("rand", "0.10.0", false);
        check("rand", "0.10.1", true);
        check("rand", "0.11.0", true);
    }

    #[test]
    fn every_floor_holds_and_every_outcast_is_named_with_what_stands_in() {
        for floor in FLOORS {
            assert!(!faults(&lock(&[(floor.package, "0.0.1")])).is_empty(), "{}", floor.package);
            assert_eq!(faults(&lock(&[(floor.package, floor.version)])), Vec::<String>::new());
        }
        for (package, instead) in NEVER {
            let told = faults(&lock(&[(package, "99.0.0")]));
            assert!(told[0].contains(package) && told[0].contains(instead), "{told:?}");
        }
    }

    #[test]
    fn a_lock_file_that_is_missing_or_too_long_is_a_fault() {
        assert_eq!(faults(&lock(&[("a", "1.0.0")])), Vec::<String>::new());
        assert_eq!(faults("").len(), 1);
        assert_eq!(faults(&lock(&vec![("a", "1.0.0"); PACKAGES_MAX])), Vec::<String>::new());
        assert_eq!(faults(&lock(&vec![("a", "1.0.0"); PACKAGES_MAX + 1])).len(), 1);
    }
}
