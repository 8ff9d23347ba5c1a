/* Both sides of the differential test in one program.
 *
 * Called `runner`: reads scripts (length, bytes) from stdin, runs each with
 * bash and dash in the working directory, and answers with what ran, what files
 * appeared, and how it ended. Called anything else: a stub that reports its
 * arguments on the descriptor it inherited and prints a little. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REPORT 200
#define MOST (1 << 20)

static const char *base(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static int stub(int argc, char **argv) {
    static char buffer[4096];
    size_t used = 4;
    const char *name = base(argv[0]);
    int first = strcmp(name, "notfound") == 0;
    for (int i = first; i < argc; i++) {
        size_t length = strlen(argv[i]) + 1;
        if (used + length > sizeof buffer) break;
        memcpy(buffer + used, argv[i], length);
        used += length;
    }
    uint32_t body = (uint32_t)(used - 4);
    memcpy(buffer, &body, 4);
    if (write(REPORT, buffer, used) < 0) return 99;
    if (first) return 127;
    if (!strcmp(name, "d")) puts("b c");
    else if (!strcmp(name, "g")) puts("*");
    else if (!strcmp(name, "h")) puts("rm x; $(curl)");
    else if (!strcmp(name, "cat0")) puts("p]");
    else if (strcmp(name, "e")) puts("o");
    return name[0] == 'f' || name[0] == 'r';
}

static void need(int fd, void *to, size_t count) {
    char *at = to;
    while (count > 0) {
        ssize_t got = read(fd, at, count);
        if (got <= 0) exit(0);
        at += got;
        count -= (size_t)got;
    }
}

static void put(const void *from, size_t count) {
    if (fwrite(from, 1, count, stdout) != count) exit(3);
}

static void put32(uint32_t value) { put(&value, 4); }

static int original(const char *name) {
    static const char *const names[] = {".", "..", "p1", "p2", "-n", "o"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return 1;
    return 0;
}

static void limit(int what, rlim_t most) {
    struct rlimit value = {most, most};
    setrlimit(what, &value);
}

static char report[MOST];
static char files[1 << 16];

static void run(const char *path, const char *name, char *script, int errors) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) exit(4);
    if (ftruncate(errors, 0) != 0) exit(4);
    pid_t child = fork();
    if (child < 0) exit(5);
    if (child == 0) {
        setpgid(0, 0);
        limit(RLIMIT_CPU, 3);
        dup2(ends[1], REPORT);
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(errors, 2);
        for (int fd = 3; fd < 32; fd++) close(fd);
        execl(path, name, "-c", script, (char *)0);
        _exit(126);
    }
    setpgid(child, child);
    close(ends[1]);
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    size_t used = 0;
    int killed = 0;
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        long spent = (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000;
        struct pollfd waiting = {ends[0], POLLIN, 0};
        if (spent > 2000 || used > 4096 ||
            poll(&waiting, 1, (int)(2001 - spent)) <= 0) {
            killed = 1;
            break;
        }
        ssize_t got = read(ends[0], report + used, MOST - used);
        if (got <= 0) break;
        used += (size_t)got;
    }
    kill(-child, SIGKILL);
    if (killed) kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    close(ends[0]);
    static char text[4096];
    ssize_t said = pread(errors, text, sizeof text - 1, 0);
    text[said > 0 ? said : 0] = 0;
    int syntax = strstr(text, "yntax error") || strstr(text, "unexpected EOF") ||
                 strstr(text, "unterminated") || strstr(text, "Unterminated") ||
                 strstr(text, "Bad substitution") || strstr(text, "bad substitution");
    size_t listed = 0;
    DIR *here = opendir(".");
    struct dirent *entry;
    while (here && (entry = readdir(here))) {
        if (original(entry->d_name)) continue;
        size_t length = strlen(entry->d_name) + 1;
        if (listed + length <= sizeof files) {
            memcpy(files + listed, entry->d_name, length);
            listed += length;
        }
        unlink(entry->d_name);
    }
    if (here) closedir(here);
    put32((uint32_t)(killed | syntax << 1));
    put32((uint32_t)used);
    put(report, used);
    put32((uint32_t)listed);
    put(files, listed);
}

int main(int argc, char **argv) {
    if (strcmp(base(argv[0]), "runner") != 0) return stub(argc, argv);
    if (argc < 4) return 2;
    int errors = open(argv[3], O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (errors < 0) return 2;
    limit(RLIMIT_FSIZE, 1 << 16);
    limit(RLIMIT_NPROC, 400);
    limit(RLIMIT_CPU, 3600);
    limit(RLIMIT_AS, (rlim_t)1 << 31);
    for (;;) {
        uint32_t length;
        need(0, &length, 4);
        char *script = malloc(length + 1u);
        if (!script) return 6;
        need(0, script, length);
        script[length] = 0;
        run(argv[1], "bash", script, errors);
        run(argv[2], "dash", script, errors);
        free(script);
        fflush(stdout);
    }
}
