#!/bin/sh
# Installs /packages/first.deb, runs it, upgrades it to /packages/second.deb, removes and purges it. Prints a line for each fact.
set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
config=/etc/crdb-exporter/exporter.yml
# The index of all pages of the manual, 8 s of CPU, is not what is tried.
[ ! -e /usr/bin/mandb ] || ln -sf /bin/true /usr/bin/mandb
fact() { echo "$1: $(eval "$2" 2>&1)"; }
as_user() { runuser -u crdb-exporter -- "$@"; }

dpkg --install /packages/first.deb >/dev/null
fact 'first version' 'dpkg-query --show --showformat="\${Version} \${Status}" crdb-exporter'
fact 'configuration belongs to' 'stat --format="%U:%G %a" $config'
fact 'secrets belong to' 'stat --format="%U:%G %a" /etc/crdb-exporter/secrets'
fact 'user' 'getent passwd crdb-exporter | cut -d: -f6,7'
fact 'check without the password' 'as_user crdb-exporter check --config.file=$config'

echo secret >/etc/crdb-exporter/secrets/cluster-password
chown root:crdb-exporter /etc/crdb-exporter/secrets/cluster-password
chmod 640 /etc/crdb-exporter/secrets/cluster-password
echo '# mine' >>$config
fact 'check with the password' 'as_user crdb-exporter check --config.file=$config'

as_user crdb-exporter --config.file=$config --web.listen-address=127.0.0.1:0 >/tmp/log 2>&1 &
while ! grep -qs msg=listening /tmp/log; do
  kill -0 $! || { cat /tmp/log; exit 1; }
  sleep 0.2
done
url=$(sed -n 's/.*msg=listening address=//p' /tmp/log)
fact 'scrape' "/usr/lib/crdb-exporter/bin/node --eval 'fetch(\"$url/metrics\").then((it) => it.text()).then((it) => console.log(it.match(/^crdb_exporter_build_info.*/m)[0]))'"
pkill -TERM -u crdb-exporter
wait $! && code=0 || code=$?
echo "exit code: $code"

# A systemd that refuses everything, as when the new version does not start.
mkdir -p /run/systemd/system
mv /usr/bin/systemctl /usr/bin/systemctl.real
printf '#!/bin/sh\nexit 1\n' >/usr/bin/systemctl
chmod 755 /usr/bin/systemctl
fact 'upgrade without a working systemctl' 'dpkg --install /packages/second.deb | grep -v "^(Reading\|^Preparing\|^Unpacking\|^Setting up\|^Processing triggers"'
fact 'second version' 'dpkg-query --show --showformat="\${Version} \${Status}" crdb-exporter'
fact 'configuration after the upgrade' 'tail -n 1 $config'
fact 'removal without a working systemctl' 'dpkg --remove crdb-exporter | grep -v "^(Reading\|^Removing\|^Processing triggers"'
rm -r /run/systemd/system
mv /usr/bin/systemctl.real /usr/bin/systemctl
fact 'program after the removal' 'ls /usr/bin/crdb-exporter /usr/lib/crdb-exporter'
fact 'configuration after the removal' 'tail -n 1 $config; stat --format="%G" $config'
dpkg --install /packages/second.deb >/dev/null
fact 'configuration after the next installation' 'tail -n 1 $config'
# As while an image is built.
systemctl --quiet enable crdb-exporter.service
link=/etc/systemd/system/multi-user.target.wants/crdb-exporter.service
fact 'link of the service' 'readlink $link'
dpkg --purge crdb-exporter >/dev/null 2>&1
fact 'files after the purge' 'find /etc/crdb-exporter /etc/default/crdb-exporter -type f'
fact 'link of the service after the purge' 'readlink $link || echo none'
