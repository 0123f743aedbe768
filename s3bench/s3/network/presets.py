"""Network presets: what S3 delivered to each type of EC2 instance, as measured by others, and S3 Express One Zone.

The source is the README of https://github.com/dvassallo/s3-benchmark (MIT License), which
measured downloads on all 155 instance types of 2019-04-02. It gives one figure for each, the most that S3 delivered to
it, and for all of them a first byte after about 20 ms at the 90th percentile and about 93 MB/s per connection. Uploads
were not measured; the same figure stands for both directions here. Neither is there a median of the first byte, so
20 ms is taken as fixed.

Of S3 Express One Zone AWS says that reads and writes have their first byte after "consistent single-digit millisecond"
times (https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-performance.html). That is a bound and no
distribution: the preset is the longest whole number of milliseconds that keeps it, fixed, and limits nothing else.
"""

EXPRESS = "express"
EXPRESS_TTFB_S = 0.009

PREFIX = "ec2:"

TTFB_S = 0.020
CONNECTION_BYTES_PER_S = 93e6

_MB_PER_S = """
c5n.18xlarge 8003
p3dn.24xlarge 6269
c5n.9xlarge 5741
c5n.2xlarge 2861
c5n.4xlarge 2851
r5.metal 2718
z1d.12xlarge 2718
r5d.24xlarge 2718
i3.metal 2716
r5.24xlarge 2714
m5d.24xlarge 2714
r4.16xlarge 2714
h1.16xlarge 2713
m5.metal 2713
x1.32xlarge 2711
c5d.18xlarge 2710
c5.18xlarge 2710
p3.16xlarge 2710
x1e.32xlarge 2709
m5.24xlarge 2709
z1d.metal 2708
i3.16xlarge 2707
f1.16xlarge 2706
m4.16xlarge 2705
g3.16xlarge 2705
p2.16xlarge 2702
m5d.metal 2673
m5a.24xlarge 1801
m5ad.24xlarge 1706
r5ad.24xlarge 1699
r5a.24xlarge 1562
c5n.xlarge 1543
x1.16xlarge 1410
p2.8xlarge 1409
g3.8xlarge 1400
x1e.16xlarge 1400
r4.8xlarge 1400
i3.8xlarge 1400
p3.8xlarge 1400
h1.8xlarge 1399
c5.9xlarge 1387
r5.12xlarge 1387
z1d.6xlarge 1387
m5.12xlarge 1387
m5d.12xlarge 1387
c5d.9xlarge 1387
r5d.12xlarge 1386
g3.4xlarge 1163
r4.4xlarge 1163
f1.4xlarge 1163
i3.4xlarge 1162
x1e.8xlarge 1162
h1.4xlarge 1161
h1.2xlarge 1161
x1e.4xlarge 1160
m5.4xlarge 1157
r5a.4xlarge 1156
r5.4xlarge 1156
r5d.4xlarge 1156
m5a.12xlarge 1156
m5d.4xlarge 1156
m5ad.4xlarge 1156
c5d.4xlarge 1156
r5ad.12xlarge 1156
c5.4xlarge 1156
m5ad.12xlarge 1156
r5a.12xlarge 1156
m5a.4xlarge 1155
r5ad.4xlarge 1155
z1d.3xlarge 1155
a1.4xlarge 1153
i3.2xlarge 1143
p3.2xlarge 1142
x1e.2xlarge 1138
f1.2xlarge 1137
r5ad.2xlarge 1136
m5d.2xlarge 1136
r4.2xlarge 1135
r5d.2xlarge 1134
m5.2xlarge 1133
z1d.2xlarge 1132
m5ad.xlarge 1132
c5d.2xlarge 1132
m5a.2xlarge 1132
m5ad.2xlarge 1131
r5a.2xlarge 1131
c5.2xlarge 1131
r5ad.xlarge 1130
r5.2xlarge 1129
r4.xlarge 1127
m5a.xlarge 1125
g3s.xlarge 1124
r5a.xlarge 1123
i3.xlarge 1119
z1d.xlarge 1116
m5.xlarge 1114
c5.xlarge 1114
m5d.xlarge 1114
r5.xlarge 1114
r5d.xlarge 1113
c5d.xlarge 1113
i2.8xlarge 1092
d2.8xlarge 1066
c4.8xlarge 1066
m4.10xlarge 1066
z1d.large 1002
x1e.xlarge 980
c5.large 949
a1.2xlarge 944
c5d.large 942
r5d.large 936
m5d.large 891
m5.large 873
c5n.large 851
r5.large 846
r5ad.large 783
m5ad.large 762
r5a.large 740
a1.xlarge 737
m5a.large 726
i3.large 624
t3.2xlarge 569
t3.xlarge 568
t3.medium 558
t3.large 553
d2.4xlarge 544
c4.4xlarge 544
r4.large 541
a1.large 514
t3.small 395
t3.micro 349
t3.nano 319
c4.2xlarge 272
d2.2xlarge 272
m4.4xlarge 246
i2.4xlarge 244
g2.8xlarge 237
a1.medium 169
p2.xlarge 154
t2.nano 118
m4.2xlarge 118
i2.2xlarge 118
g2.2xlarge 118
t2.2xlarge 116
t2.xlarge 113
t2.large 109
t2.medium 108
c4.xlarge 102
d2.xlarge 102
m4.xlarge 87
i2.xlarge 80
c4.large 71
m4.large 53
t2.micro 46
t2.small 39
"""

EC2_BYTES_PER_S = {name: float(figure) * 1e6 for name, figure in map(str.split, _MB_PER_S.strip().splitlines())}
"""The most that S3 delivered to each instance type."""
