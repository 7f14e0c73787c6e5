import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.*;
import java.util.*;
import java.util.concurrent.*;

/**
 * The loop of an adapter in Java: lockbench help protocol explains the lines. Each session is used by a thread of its
 * own, since libraries know their holders by thread.
 */
abstract class Lines {
    /** The methods take requests, and return the fields of their answers. A cancel interrupts await. */
    interface Session {
        Map<String, ?> attempt(JsonNode request) throws Exception;

        Map<String, ?> release(JsonNode request) throws Exception;

        default Map<String, ?> await(JsonNode request) throws Exception {
            throw new Failed("protocol", "op: wait is unknown", "op");
        }

        default void close() throws Exception {}
    }

    /** An error of one of the protocol's classes. */
    static class Failed extends Exception {
        final Map<String, String> fields = new LinkedHashMap<>();

        Failed(String errorClass, String text) {
            super(text);
            fields.put("class", errorClass);
            fields.put("text", text);
        }

        Failed(String errorClass, String text, String field) {
            this(errorClass, text);
            fields.put("field", field);
        }
    }

    static final ObjectMapper json = new ObjectMapper();
    static final OutputStream out = new FileOutputStream(FileDescriptor.out);

    long limit = 3_000_000_000L; // nanoseconds that lockbench waits for an answer to an attempt

    /** What the adapter says about itself, but for the version of the protocol. */
    abstract Map<String, Object> hello() throws Exception;

    /** Open the lock, and return its traits. */
    abstract Map<String, ?> open(JsonNode request) throws Exception;

    abstract Session session() throws Exception;

    void close() throws Exception {}

    /** Tell of the first refusal of a wait, when its answer has been read. */
    static void refused(JsonNode request) {
        write(Map.of("event", "refused", "session", request.get("session")));
    }

    static void answer(JsonNode request, Callable<Map<String, ?>> fields) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("id", request.get("id"));
        try {
            line.putAll(fields.call());
        } catch (Failed e) {
            line.put("error", e.fields);
        } catch (Exception e) {
            line.put("error", Map.of("class", "other", "text", e.toString()));
        }
        write(line);
    }

    static void write(Map<String, ?> line) {
        try {
            byte[] text = (json.writeValueAsString(line) + "\n").getBytes("UTF-8");
            synchronized (out) {
                out.write(text);
            }
        } catch (IOException e) {
            Runtime.getRuntime().halt(1); // the parent has died
        }
    }

    /** A session's thread. */
    class Worker extends Thread {
        final BlockingQueue<JsonNode> requests = new LinkedBlockingQueue<>();
        Session session;
        boolean waits, cancelled; // of a wait that was read, and is not over
        boolean waiting; // and has begun

        void add(JsonNode r) {
            if (r.get("op").asText().equals("wait")) {
                synchronized (this) {
                    waits = true;
                }
            }
            requests.add(r);
        }

        synchronized Map<String, ?> cancel() {
            cancelled = waits;
            if (waiting) {
                interrupt();
            }
            return Map.of();
        }

        synchronized boolean begin() {
            return waiting = !cancelled;
        }

        synchronized void end() {
            waits = waiting = cancelled = false;
            interrupted(); // a cancel that came too late
        }

        Map<String, ?> await(JsonNode r) throws Exception {
            try {
                return begin() ? session.await(r) : Map.of("held", false);
            } catch (InterruptedException e) {
                return Map.of("held", false);
            } finally {
                end();
            }
        }

        /** A library may go on with an attempt that lockbench has given up, and nobody would know of the grant. */
        Map<String, ?> attempt(JsonNode r) throws Exception {
            if (late(r)) {
                throw new Failed("timeout", "the requests before it took too long");
            }
            Map<String, ?> fields = session.attempt(r);
            if (late(r) && fields.get("held").equals(true)) {
                session.release(r);
                throw new Failed("timeout", "the lock was granted too late, and is released");
            }
            return fields;
        }

        boolean late(JsonNode r) {
            return System.nanoTime() - r.get("read").asLong() > Math.min(limit, r.path("timeout_ns").asLong(limit));
        }

        Map<String, ?> act(JsonNode r) throws Exception {
            switch (r.get("op").asText()) {
                case "session":
                    session = session();
                    return Map.of();
                case "try":
                    return attempt(r);
                case "wait":
                    return await(r);
                case "release":
                    return session.release(r);
                case "close":
                    session.close();
                    return Map.of();
                default:
                    throw new Failed("protocol", "op: " + r.get("op") + " is unknown", "op");
            }
        }

        @Override
        public void run() {
            JsonNode r;
            do {
                try {
                    r = requests.take();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e); // only a wait is interrupted
                }
                JsonNode request = r;
                answer(r, () -> act(request));
            } while (!r.get("op").asText().equals("close"));
        }
    }

    /** Answer requests until a close, or the end of the input. */
    void serve() throws Exception {
        System.setOut(System.err); // what a library prints is no line
        Map<Integer, Worker> workers = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String text; (text = in.readLine()) != null; ) {
            ObjectNode r = (ObjectNode) json.readTree(text);
            r.put("read", System.nanoTime());
            String op = r.get("op").asText();
            int number = r.path("session").asInt();
            Worker worker = op.equals("session") ? new Worker() : workers.get(number);
            if (op.equals("hello")) {
                answer(r, () -> {
                    Map<String, Object> hello = hello();
                    hello.put("version", 2);
                    return Map.of("hello", hello);
                });
            } else if (op.equals("open")) {
                limit = r.path("io_timeout_ns").asLong(limit);
                answer(r, () -> Map.of("traits", open(r)));
            } else if (op.equals("close") && number == 0) {
                answer(r, () -> {
                    close();
                    return Map.of();
                });
                break;
            } else if (worker == null) {
                answer(r, () -> {
                    throw new Failed("protocol", "session: " + number + " is not open", "session");
                });
            } else if (op.equals("cancel")) {
                answer(r, worker::cancel);
            } else {
                if (op.equals("session")) {
                    workers.put(number, worker);
                    worker.start();
                } else if (op.equals("close")) {
                    workers.remove(number);
                }
                worker.add(r);
            }
        }
        Runtime.getRuntime().halt(0); // without a release
    }
}
