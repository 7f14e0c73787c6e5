import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.stream.*;
import org.apache.curator.framework.*;
import org.apache.curator.framework.recipes.locks.*;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.KeeperException;

/**
 * InterProcessMutex of Apache Curator, as its documentation shows it: a client with ExponentialBackoffRetry(1000, 3),
 * acquire, and release in the same thread. The sessions share the client, as the threads of an application do.
 */
class Curator extends Lines {
    static final Map<String, Boolean> TRAITS = Stream.of(
        "exclusive", "owned", "session", "reentrant", "fair", "waits", "takes_owner")
        .collect(Collectors.toMap(name -> name, name -> true));

    CuratorFramework client;

    Map<String, Object> hello() throws Exception {
        Properties about = new Properties();
        about.load(InterProcessMutex.class.getResourceAsStream(
            "/META-INF/maven/org.apache.curator/curator-recipes/pom.properties"));
        return new HashMap<>(Map.of(
            "library", Map.of("name", "curator-recipes", "version",
                about.getProperty("version") + " on Java " + System.getProperty("java.version")),
            "service", "zookeeper",
            "topologies", List.of("ensemble"),
            "designs", List.of(Map.of(
                "name", "library",
                "traits", TRAITS,
                "models", "InterProcessMutex: a numbered ephemeral node each, the lowest holds, each other watches the "
                    + "one before",
                "wrong", "a holder paused beyond its session goes on unaware: no fencing token; the mutex itself does "
                    + "not tell of the end of its session (CURATOR-206), and enters again after it; a release that "
                    + "fails cannot be repeated, and goes on in the background (CURATOR-678); a client that loses its "
                    + "connection makes the next one after 1 to 2 s (ZooKeeper's ClientCnxn), and asks again after "
                    + "1 s or more: so long its waiters sleep on a free key, and shorter sessions end",
                "loses", List.of("holder-pauses", "session-lost", "missed-wakeup")))));
    }

    Map<String, ?> open(JsonNode r) throws Exception {
        List<URI> servers = new ArrayList<>();
        for (JsonNode a : r.path("addrs")) {
            servers.add(URI.create(a.asText().contains("://") ? a.asText() : "zookeeper://" + a.asText()));
        }
        if (servers.stream().anyMatch(s -> s.getScheme().matches("zookeepers|zks"))) {
            throw new Failed("other", "this adapter speaks no TLS: give an address with zookeeper://");
        }
        String hosts = servers.stream().map(s -> s.getRawAuthority().replaceFirst(".*@", ""))
            .collect(Collectors.joining(","));
        String path = r.path("database").asText(servers.get(0).getPath()).replaceFirst("/$", "");
        String user = r.has("username") ? r.get("username").asText() : servers.get(0).getUserInfo();
        if (user != null && r.has("password")) {
            user = user.replaceFirst(":.*", "") + ":" + r.get("password").asText();
        }
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
            .connectString(hosts + path)
            .sessionTimeoutMs((int) (r.path("ttl_ns").asLong(10_000_000_000L) / 1_000_000))
            .connectionTimeoutMs((int) (limit / 1_000_000))
            .retryPolicy(new ExponentialBackoffRetry(1000, 3));
        if (user != null) {
            builder.authorization("digest", user.getBytes("UTF-8"));
        }
        client = builder.build();
        client.start();
        connect();
        return TRAITS;
    }

    void connect() throws Exception {
        if (!client.blockUntilConnected((int) (limit / 1_000_000), TimeUnit.MILLISECONDS)) {
            throw new Failed("connect", "no connection to ZooKeeper");
        }
    }

    Session session() {
        return new Client();
    }

    @Override
    void close() {
        if (client != null) {
            client.close();
        }
    }

    /** The number of the session with ZooKeeper. */
    long number() throws Exception {
        return client.getZookeeperClient().getZooKeeper().getSessionId();
    }

    /** The mutex of a key and of a thread, which can acquire it again while it holds it. */
    class Hold {
        final Set<String> owners = new HashSet<>(); // of the acquisitions that were not released
        final InterProcessMutex mutex;
        long session; // in which it was granted, perhaps not the one in which it was requested

        JsonNode waits; // a wait that was not refused yet

        Hold(String key) throws Exception {
            mutex = new InterProcessMutex(client, node(key), new StandardLockInternalsDriver() {
                @Override
                public PredicateResults getsTheLock(CuratorFramework client, List<String> children, String name, int most)
                        throws Exception {
                    PredicateResults results = super.getsTheLock(client, children, name, most);
                    if (waits != null && !results.getsTheLock()) {
                        refused(waits);
                        waits = null;
                    }
                    return results;
                }
            });
        }
    }

    class Client implements Session {
        final Map<String, Hold> holds = new HashMap<>();

        public Map<String, ?> attempt(JsonNode r) throws Exception {
            return acquire(r, 0);
        }

        public Map<String, ?> await(JsonNode r) throws Exception {
            return acquire(r, r.has("timeout_ns") ? r.get("timeout_ns").asLong() / 1_000_000 : -1);
        }

        /** A hold ends with the session, of which a listener for LOST may hear too late. */
        Hold held(String key) throws Exception {
            Hold hold = holds.get(key);
            if (hold != null && hold.session != number()) {
                holds.remove(key);
                return null;
            }
            return hold;
        }

        Map<String, ?> acquire(JsonNode r, long millis) throws Exception {
            String key = r.get("key").asText();
            Hold hold = held(key);
            if (hold == null) {
                connect();
                hold = new Hold(key);
            }
            InterProcessMutex mutex = hold.mutex;
            hold.waits = r.get("op").asText().equals("wait") ? r : null;
            boolean held = asked(() -> {
                if (millis < 0) {
                    mutex.acquire();
                    return true;
                }
                return mutex.acquire(millis, TimeUnit.MILLISECONDS);
            });
            if (held) {
                if (holds.put(key, hold) == null) {
                    hold.session = number();
                }
                hold.owners.add(r.path("owner").asText());
            }
            return Map.of("held", held, "tries", 1); // a node in line
        }

        public Map<String, ?> release(JsonNode r) throws Exception {
            String key = r.get("key").asText();
            Hold hold = held(key);
            if (hold == null || !hold.owners.remove(r.path("owner").asText())) {
                return Map.of("owned", false);
            }
            try {
                asked(() -> {
                    hold.mutex.release();
                    return null;
                });
            } finally {
                if (!hold.mutex.isAcquiredInThisProcess()) {
                    holds.remove(key);
                }
            }
            return Map.of("owned", number() == hold.session);
        }

        @Override
        public void close() throws Exception {
            for (Hold hold : holds.values()) {
                while (hold.mutex.isAcquiredInThisProcess()) {
                    hold.mutex.release();
                }
            }
        }
    }

    /** Ask the server. Nothing was done only if it did not permit it. */
    static <T> T asked(java.util.concurrent.Callable<T> request) throws Exception {
        try {
            return request.call();
        } catch (KeeperException.NoAuthException | KeeperException.AuthFailedException e) {
            throw new Failed("auth", e.toString());
        } catch (KeeperException.ConnectionLossException | KeeperException.SessionExpiredException
            | KeeperException.NoNodeException e) { // the last: its own node has ended with the session
            throw new Failed("closed", e.toString());
        }
    }

    /** The node of a key, whatever characters it has, as lockbench names it to clean up. */
    static String node(String key) throws Exception {
        StringBuilder name = new StringBuilder("/");
        for (byte b : key.getBytes("UTF-8")) {
            boolean plain = b > 0 && (Character.isLetterOrDigit(b) || "-._~$&+:=@".indexOf(b) >= 0);
            name.append(plain ? String.valueOf((char) b) : String.format("%%%02X", b));
        }
        return name.toString().replaceFirst("^/(\\.\\.?)$", "/%2E");
    }

    public static void main(String[] args) throws Exception {
        new Curator().serve();
    }
}
