//! Threads swap files, directories and the root for links while another opens through
//! the guard: nothing outside is ever read or written. `MERO_RACE_SECONDS` makes it longer.

use super::World;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

fn seconds() -> u64 {
    std::env::var("MERO_RACE_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

/// Puts a link in the place of a file or directory, and back, until told to stop. The
/// directory that it is in is held open: it may itself be swapped meanwhile.
fn swap(
    world: &World,
    directory: &str,
    name: &str,
    target: &str,
    stop: &Arc<AtomicBool>,
) -> JoinHandle<u64> {
    let directory = fs::File::open(world.at(directory)).unwrap();
    let target = world.at(target);
    let stop = Arc::clone(stop);
    let name = name.to_owned();
    std::thread::spawn(move || {
        let held = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
        let (here, away, link) = (
            held.join(&name),
            held.join(format!("{name}.away")),
            held.join(format!("{name}.link")),
        );
        let mut swaps = 0;
        while !stop.load(Ordering::Relaxed) {
            let _ = symlink(&target, &link);
            let _ = fs::rename(&here, &away);
            let _ = fs::rename(&link, &here);
            let _ = fs::remove_file(&here);
            let _ = fs::rename(&away, &here);
            swaps += 1;
        }
        swaps
    })
}

#[cfg(target_os = "linux")]
#[test]
fn a_swapped_link_is_never_followed() {
    let world = World::new(&["work/f", "work/d/e/f", "out/f", "out/e/f", "out/d/e/f"]);
    for file in ["out/f", "out/e/f", "out/d/e/f"] {
        fs::write(world.at(file), "secret").unwrap();
    }
    let guard = world.guard(r#"mount root at "./work" { allow all }"#);
    let stop = Arc::new(AtomicBool::new(false));
    let swaps = [
        swap(&world, "work", "f", "out/f", &stop),
        swap(&world, "work", "d", "out", &stop),
        swap(&world, "", "work", "out", &stop),
    ];
    let end = Instant::now() + Duration::from_secs(seconds());
    let (mut read, mut refused, mut written) = (0u64, 0u64, 0u64);
    while Instant::now() < end {
        for path in ["/f", "/d/e/f"] {
            match guard.read(path, "") {
                Ok(text) => {
                    assert_ne!(text, b"secret", "{path}");
                    read += 1;
                }
                Err(_) => refused += 1,
            }
            if guard.write(path, b"mine", "").is_ok() {
                written += 1;
            }
            let _ = guard.write(&*format!("{path}.new"), b"mine", "");
            let _ = guard.remove(&*format!("{path}.new"), "");
        }
    }
    stop.store(true, Ordering::Relaxed);
    let swaps = swaps.map(|s| s.join().unwrap());
    for file in ["out/f", "out/e/f", "out/d/e/f"] {
        assert_eq!(world.text(file), "secret", "{file}");
    }
    let left = |d: &str| fs::read_dir(world.at(d)).unwrap().count();
    assert_eq!((left("out"), left("out/e"), left("out/d/e")), (3, 1, 1));
    // Otherwise nothing was tried.
    assert!(read > 0 && refused > 0 && written > 0 && swaps.iter().all(|&s| s > 0));
}
