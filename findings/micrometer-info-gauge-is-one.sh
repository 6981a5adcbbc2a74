#!/usr/bin/env bash
# micrometer-registry-prometheus 1.17.2 (Maven): a gauge whose name ends in `.info`, such as the number of messages of that level, is exposed
# as 1, whatever it measures, with the type gauge. Spelt `_info`, it has its value, but no suffix: `log_messages`, as it is with `.total`,
# `.created` and `.bucket`. With `.warn` both are as they should be. Needs Java 17 and Maven.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/pom.xml" <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>io.micrometer</groupId><artifactId>micrometer-registry-prometheus</artifactId><version>1.17.2</version>
  </dependency></dependencies>
</project>
END
cat >"$folder/Expose.java" <<'END'
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.*;

public class Expose {
    public static void main(String[] arguments) {
        for (var name : new String[] {"log.messages.info", "log_messages_info", "log.messages.warn"}) {
            var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
            Gauge.builder(name, () -> 42).tag("node", "a").register(registry);
            Gauge.builder(name, () -> 0).tag("node", "b").register(registry);
            System.out.println(name + "\n" + registry.scrape());
        }
    }
}
END
mvn -B -q -f "$folder/pom.xml" dependency:copy-dependencies -DoutputDirectory="$folder/lib" >/dev/null
seen=$(java -cp "$folder/lib/*" "$folder/Expose.java" | grep -v '^# HELP\|^$')
echo "$seen"
[ "$seen" = 'log.messages.info
# TYPE log_messages_info gauge
log_messages_info{node="a"} 1
log_messages_info{node="b"} 1
log_messages_info
# TYPE log_messages gauge
log_messages{node="a"} 42.0
log_messages{node="b"} 0.0
log.messages.warn
# TYPE log_messages_warn gauge
log_messages_warn{node="a"} 42.0
log_messages_warn{node="b"} 0.0' ]
