/* A minimal HTTP client for load_cost.py: 16 or so keep-alive connections and epoll, plain send and recv.

   load_cost HOST PORT get|put PATH BODY_BYTES CONNECTIONS SECONDS

   It signs nothing, records nothing and trusts every answer that begins with 200 and says its length. Bodies of answers
   are discarded in the kernel (MSG_TRUNC), as s3bench does where bytes need no verification. Prints requests, body
   bytes and CPU seconds by the process's own clock. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 65536, VOID_BYTES = 8 << 20, CONNECTIONS_MAX = 1024 };

struct connection { int fd; long sent, rest; };

static char request[1024], *body, *nowhere, head[HEAD_BYTES + 1];
static long request_bytes, body_bytes, requests, moved;
static int epoll_fd, is_put;

static double seconds(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void die(const char *what) { perror(what); exit(1); }

static void watch(struct connection *c, int index, unsigned events) {
    struct epoll_event event = {.events = events, .data.u32 = index};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &event)) die("epoll_ctl");
}

static void send_on(struct connection *c, int index) {
    long whole = request_bytes + (is_put ? body_bytes : 0), before = c->sent;
    while (c->sent < whole) {
        struct iovec pieces[2] = {{request + c->sent, request_bytes - c->sent}, {body, body_bytes}};
        struct iovec rest = {body + c->sent - request_bytes, whole - c->sent};
        ssize_t sent = !is_put ? send(c->fd, request + c->sent, whole - c->sent, 0)
            : c->sent < request_bytes ? writev(c->fd, pieces, 2) : writev(c->fd, &rest, 1);
        if (sent < 0 && errno != EAGAIN) die("send");
        if (sent < 0) break;
        c->sent += sent;
        if (c->sent < whole) break;
    }
    if (c->sent < whole) watch(c, index, EPOLLIN | EPOLLOUT);
    else if (before) watch(c, index, EPOLLIN);
}

static void begin(struct connection *c, int index) { c->sent = 0; c->rest = -1; send_on(c, index); }

static void end(struct connection *c, int index) { requests++; moved += body_bytes; begin(c, index); }

static void receive(struct connection *c, int index) {
    ssize_t got;
    if (c->rest > 0) {
        got = recv(c->fd, nowhere, c->rest < VOID_BYTES ? c->rest : VOID_BYTES, MSG_TRUNC);
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) die("recv");
        if (!(c->rest -= got)) end(c, index);
        return;
    }
    got = recv(c->fd, head, HEAD_BYTES, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) die("recv");
    head[got] = 0;
    char *stop = memmem(head, got, "\r\n\r\n", 4), *length = strcasestr(head, "\r\ncontent-length:");
    if (!stop || !length || strncmp(head, "HTTP/1.1 200", 12)) { fprintf(stderr, "unexpected: %.200s\n", head); exit(1); }
    c->rest = atol(length + 17) - (got - (stop + 4 - head));
    if (!c->rest) end(c, index);
}

int main(int count, char **words) {
    if (count != 8) return 2;
    is_put = !strcmp(words[3], "put");
    body_bytes = atol(words[5]);
    int connections = atoi(words[6]);
    if (connections > CONNECTIONS_MAX) return 2;
    double until = seconds(CLOCK_MONOTONIC) + atof(words[7]);
    body = malloc(body_bytes + 1);
    for (long at = 0; at < body_bytes; at++) body[at] = (char)(at * 2654435761u >> 13);
    nowhere = malloc(VOID_BYTES);
    int used = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: %s:%s\r\n", is_put ? "PUT" : "GET", words[4], words[1], words[2]);
    if (is_put) used += snprintf(request + used, sizeof request - used, "Content-Length: %ld\r\n", body_bytes);
    used += snprintf(request + used, sizeof request - used, "\r\n");
    request_bytes = used;
    epoll_fd = epoll_create1(0);
    static struct connection all[CONNECTIONS_MAX];
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(atoi(words[2]))};
    inet_pton(AF_INET, words[1], &where.sin_addr);
    for (int i = 0; i < connections; i++) {
        int one = 1;
        all[i].fd = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(all[i].fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
        if (connect(all[i].fd, (struct sockaddr *)&where, sizeof where)) die("connect");
        setsockopt(all[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (fcntl(all[i].fd, F_SETFL, O_NONBLOCK)) die("fcntl");
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, all[i].fd, &event);
    }
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < connections; i++) begin(&all[i], i);
    struct epoll_event ready[512];
    while (seconds(CLOCK_MONOTONIC) < until) {
        int found = epoll_wait(epoll_fd, ready, 512, 100);
        for (int i = 0; i < found; i++) {
            int index = ready[i].data.u32;
            if (ready[i].events & EPOLLIN) receive(&all[index], index);
            else send_on(&all[index], index);
        }
    }
    printf("%ld %ld %.9f\n", requests, moved, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    return 0;
}
