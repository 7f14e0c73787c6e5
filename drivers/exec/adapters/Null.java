import com.fasterxml.jackson.databind.JsonNode;
import java.util.*;

/** A lock that excludes nobody: what an adapter in Java costs. */
class Null extends Lines {
    Map<String, Object> hello() {
        return new HashMap<>(Map.of(
            "library", Map.of("name", "java", "version", System.getProperty("java.version")),
            "designs", List.of(Map.of("name", "none", "traits", Map.of(), "models", "nothing"))));
    }

    Map<String, ?> open(JsonNode request) {
        return Map.of();
    }

    Session session() {
        return new Session() {
            public Map<String, ?> attempt(JsonNode request) {
                return Map.of("held", true);
            }

            public Map<String, ?> release(JsonNode request) {
                return Map.of("owned", true);
            }
        };
    }

    public static void main(String[] args) throws Exception {
        new Null().serve();
    }
}
