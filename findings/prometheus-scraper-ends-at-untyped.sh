#!/usr/bin/env bash
# org.hawkular.agent:prometheus-scraper 0.23.0.Final (Maven) takes a family of the type untyped for the end of the text: what comes after it
# is lost, and nothing is said. Prometheus itself writes that type for each series at /federate. A sample with a space after a comma of its
# labels is left out, too. Needs Java 17 and Maven.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/pom.xml" <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.hawkular.agent</groupId><artifactId>prometheus-scraper</artifactId><version>0.23.0.Final</version>
  </dependency></dependencies>
</project>
END
cat >"$folder/Read.java" <<'END'
import java.io.*;
import org.hawkular.agent.prometheus.text.TextPrometheusMetricsProcessor;
import org.hawkular.agent.prometheus.walkers.CollectorPrometheusMetricsWalker;

public class Read {
    static void read(String text) {
        var walker = new CollectorPrometheusMetricsWalker();
        new TextPrometheusMetricsProcessor(new ByteArrayInputStream(text.getBytes()), walker).walk();
        var seen = new StringBuilder();
        for (var family : walker.getAllMetricFamilies()) seen.append(" " + family.getName() + " " + family.getMetrics().size());
        System.out.println(text.replace("\n", "; ") + "->" + seen);
    }

    public static void main(String[] arguments) {
        read("# TYPE a gauge\na 1\n# TYPE b untyped\nb 2\n# TYPE c gauge\nc 3\n");
        read("# TYPE a gauge\na 1\n# TYPE b gauge\nb 2\n# TYPE c gauge\nc 3\n");
        read("# TYPE a gauge\na{x=\"1\",y=\"2\"} 1\na{x=\"1\", y=\"3\"} 2\n");
    }
}
END
mvn -B -q -f "$folder/pom.xml" dependency:copy-dependencies -DoutputDirectory="$folder/lib" >/dev/null
seen=$(java -cp "$folder/lib/*" "$folder/Read.java" 2>"$folder/log")
echo "$seen"
[ ! -s "$folder/log" ]
[ "$seen" = '# TYPE a gauge; a 1; # TYPE b untyped; b 2; # TYPE c gauge; c 3; -> a 1
# TYPE a gauge; a 1; # TYPE b gauge; b 2; # TYPE c gauge; c 3; -> a 1 b 1 c 1
# TYPE a gauge; a{x="1",y="2"} 1; a{x="1", y="3"} 2; -> a 1' ]
