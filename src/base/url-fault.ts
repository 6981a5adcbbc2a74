/** Why a text cannot be the beginning of URLs, or undefined. */
export function findUrlFault(url: string, example = 'https://host/path'): string | undefined {
  if (!/^https?:\/\//i.test(url)) {
    return `does not begin with https:// or http://: write it as ${example}`;
  }
  // Spaces, quotes and braces would have to be escaped in the rules for Prometheus.
  if (!URL.canParse(url) || /[\s'{}]/.test(url))
    return `is not a valid URL: write it as ${example}`;
  const { username, password, hostname, port } = new URL(url);
  if (username !== '' || password !== '') {
    return 'holds a user or a password: remove them, or move them to username and password_file';
  }
  // A name may end with a dot; an IPv6 address is in brackets.
  const labels = hostname.replace(/\.$/, '').split('.');
  if (hostname.length > 254 || labels.some((label) => label === '' || label.length > 63)) {
    return 'has a host name that DNS does not allow: its parts have 1 to 63 characters, and all 253 at most';
  }
  if (port === '0') return 'has the port 0: write the one that is listened on';
  if (!/[?#]/.test(url)) return undefined;
  return 'has a query or a fragment: remove everything from the ? or # on';
}
