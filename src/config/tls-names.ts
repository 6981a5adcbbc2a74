// Names that Go's crypto/tls gives to what OpenSSL calls otherwise; web config files are written in Go's.

export const TLS_VERSIONS = {
  TLS10: 'TLSv1',
  TLS11: 'TLSv1.1',
  TLS12: 'TLSv1.2',
  TLS13: 'TLSv1.3',
} as const;

export type TlsVersion = (typeof TLS_VERSIONS)[keyof typeof TLS_VERSIONS];

export const CURVES = {
  CurveP256: 'prime256v1',
  CurveP384: 'secp384r1',
  CurveP521: 'secp521r1',
  X25519: 'X25519',
} as const;

/** The suites that Go calls secure. Those of TLS 1.3 cannot be chosen, there as here. */
export const CIPHER_SUITES = {
  TLS_AES_128_GCM_SHA256: undefined,
  TLS_AES_256_GCM_SHA384: undefined,
  TLS_CHACHA20_POLY1305_SHA256: undefined,
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
} as const;

/** What a server asks of the certificate of a client. */
export interface ClientAuth {
  /** One is asked for. */
  readonly asks: boolean;
  /** A connection without one is refused. */
  readonly needs: boolean;
  /** One that is given must come from a known CA. */
  readonly verifies: boolean;
}

const REQUIRE_ANY: ClientAuth = { asks: true, needs: true, verifies: false };
export const CLIENT_AUTH_TYPES = {
  NoClientCert: { asks: false, needs: false, verifies: false },
  RequestClientCert: { asks: true, needs: false, verifies: false },
  RequireAnyClientCert: REQUIRE_ANY,
  /** The older name. */
  RequireClientCert: REQUIRE_ANY,
  VerifyClientCertIfGiven: { asks: true, needs: false, verifies: true },
  RequireAndVerifyClientCert: { asks: true, needs: true, verifies: true },
} as const satisfies Readonly<Record<string, ClientAuth>>;
